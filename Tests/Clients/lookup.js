// Prints a row for each name as getaddrinfo.c does with -r: through the C library (`lookup`), or through c-ares (`resolve`).
"use strict"
const dns = require("dns").promises

async function addresses(way, name) {
    if (way === "lookup") return (await dns.lookup(name, { all: true })).map(entry => entry.address)
    const families = await Promise.allSettled([dns.resolve4(name), dns.resolve6(name)])
    const found = families.flatMap(family => family.value ?? [])
    const failure = families.find(family => family.reason)
    if (found.length === 0) throw failure.reason
    return found
}

async function run(way, names) {
    for (const name of names) {
        const start = performance.now()
        const found = await addresses(way, name).catch(error => [error.code])
        console.log(name, ...found, Math.round(performance.now() - start))
    }
}

run(process.argv[2], process.argv.slice(3))
