/// A file with every key of the schema, most at their defaults.
let everyKey = #"""
    [listen]
    addresses = ["127.0.0.1:53", "[::1]:53"]    # UDP and TCP on each
    tls = []                                     # DNS over TLS on each
    https = []                                   # DNS over HTTPS on each
    certificate = ""
    key = ""
    client_ca = ""
    https_path = "/dns-query"
    proxies = []
    udp_threads = 0
    allow = ["127.0.0.0/8", "::1/128"]
    tokens = []
    cookie_secrets = []                          # of DNS cookies; empty: each process has its own
    udp_rate = 500                               # responses a second to a public network without a cookie
    user = ""                                    # drop to this user after binding
    httpdns = ["127.0.0.1:8054"]                 # HTTPDNS in plain http
    http_names = []                              # by which httpdns may be asked
    name = ""                                    # of the certificate, for discovery and profiles
    advertise = []                               # empty: the addresses of the listeners

    [[account]]                                  # of the HTTPDNS service offered here
    id = "139450"
    secret = "${ALIYUN_HTTPDNS_SECRET}"
    access_key_id = ""
    encryption = "none"
    encryption_key = ""
    names = []
    daily_limit = 0
    client_subnet = false
    replayable = false

    [[provider]]                                 # asked in this order
    type = "aliyun"                              # aliyun aliyun-v2 tencent tencent-https doh-json doh (later: baidu volcengine ucloud)
    name = "aliyun"
    account = "139450"
    access_key_id = ""                           # AliDNS
    secret = "${ALIYUN_HTTPDNS_SECRET}"          # or secret_file
    encryption_key = ""                          # aliyun-v2, tencent
    encryption = ""                              # empty: by the type; aliyun-v2: none cbc gcm; tencent: des aes
    region = "cn"                                # which of the vendor's services; aliyun: cn hk sg de us; tencent: cn intl
    url = "https://203.107.1.1"                  # base of the service; built in where the provider has one
    addresses = ["203.107.1.1", "203.107.1.97"]  # connect here
    startup_addresses = []                       # ask here for addresses; aliyun: built in where addresses is not written
    tls_names = ["resolvers.httpdns.aliyuncs.com", "203.107.1.1"]
    ca_file = ""
    pin = []                                     # SPKI pins
    names = []                                   # suffixes this provider is asked for; empty: all (a warning for metered types)
    client_subnet = "off"                        # off, "client/24", or a fixed network
    daily_limit = 0                              # calls a day; 0: no limit
    monthly_limit = 0                            # calls a month; 0: no limit
    hedge = true                                 # asked beside a provider before it that is slow
    timeout = "1s"

    [route]
    mode = "httpdns-first"
    protect = []                                 # empty: every name that nothing else matches
    bypass = ["local.lan"]
    network_names = "auto"                       # the built-in list; or one of your own
    [[forward]]                                  # conditional forwarding
    suffixes = ["cluster.local"]
    servers = ["10.96.0.10"]

    [localdns]
    servers = "auto"       # the first list with a server that is not us: /run/systemd/resolve/resolv.conf, /run/NetworkManager/no-stub-resolv.conf, resolv_conf; else the last that worked
    resolv_conf = "/etc/resolv.conf"
    timeout = "1.5s"
    max_ttl = "7d"
    certificate_check = "auto"                   # auto strict lenient off
    certificate_ports = [443]
    unverified = []                              # suffixes that have no TLS: taken as they are

    [cache]
    memory = "64MiB"
    min_ttl = "0s"
    max_ttl = "1d"
    negative_ttl = "30s"                         # where the provider gives none
    prefetch = true
    [cache.stale]
    wait = "200ms"
    max = "1d"
    [cache.disk]
    path = "/var/lib/httpdnsd/cache.sqlite"      # empty: no disk cache
    flush_interval = "1s"
    [cache.shared]
    url = ""                                     # a Redis; empty: nothing is shared
    key = ""
    key_file = ""
    prefix = "httpdnsd:"
    timeout = "50ms"
    lease = true
    limits = false
    ca_file = ""

    [preset]
    always = { }                                 # "www.example.com" = ["192.0.2.1", "2001:db8::1"]
    last_resort = { }
    preresolve = []
    hosts_file = ""

    [answers]
    prefer = "both"                              # both ipv4 ipv6 ipv4-only ipv6-only
    rotate = true                                # each client gets the addresses in another order
    https_records = "protect"                    # protect (step 9's rule) or forward
    bogus = []                                   # networks whose addresses no protected name has
    private_addresses = "keep"                   # keep drop: addresses of local networks
    private_names = []                           # may have them in any case
    dns64 = "auto"                               # auto off, or a prefix such as "64:ff9b::/96"
    hide_canary = true                           # use-application-dns.net does not exist

    [policy]
    url = ""                                     # https or file; empty: none
    public_key = []                              # one, or two for rotation
    interval = "5m"
    on_expiry = "drop"                           # drop keep
    labels = []
    ca_file = ""

    [control]
    socket = "/run/httpdnsd/control.sock"
    group = ""
    mode = ""                                    # 0600, or 0660 with a group
    http = ""                                    # later: metrics, health, page
    http_names = []                              # by which the page may be asked for
    [http]
    proxy = ""
    [limits]
    memory = ""                                  # empty: what the control group allows
    misses_per_second = ""                       # 0: any number
    misses_burst = 400
    [log]
    level = "info"
    format = "text"                              # text json
    queries = false
    dnstap = ""                                  # unix: or tcp:
    """#
