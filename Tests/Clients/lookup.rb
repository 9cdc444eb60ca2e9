# Prints a row for each name as getaddrinfo.c does with -r, through Ruby's own resolver (Resolv), which does not say whether a
# name without addresses exists.
require "resolv"

resolver = Resolv::DNS.new
ARGV.each do |name|
  start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  types = [Resolv::DNS::Resource::IN::A, Resolv::DNS::Resource::IN::AAAA]
  found = begin
    types.flat_map { |type| resolver.getresources(name, type) }.map { |record| record.address.to_s.downcase }
  rescue Resolv::ResolvError => error
    [error.class.name]
  end
  found = ["nothing"] if found.empty?
  puts [name, *found, ((Process.clock_gettime(Process::CLOCK_MONOTONIC) - start) * 1000).to_i].join(" ")
end
