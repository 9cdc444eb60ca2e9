#!/usr/bin/env python3
"""Writes cases.json from a checkout of x509-limbo, whose Python packages must be installed (cryptography, pydantic).

  generate.py CHECKOUT    keys and certificates are new ones each time

Left out are the cases that are nothing for a client of TLS: validation of clients, revocation lists, a limit of the
chain's depth, no name to be verified, no private key with which a server could present the certificate.
"""

import json
import pathlib
import sys

sys.path.insert(0, sys.argv[1])

import limbo.testcases  # noqa: E402,F401: registers the cases, but for those of bettertls and of sites
from limbo.models import ExpectedResult, ValidationKind  # noqa: E402
from limbo.testcases._core import registry  # noqa: E402

made = [make() for make in registry.values()]
cases = [
    {
        "id": case.id,
        "description": " ".join(case.description.split()),
        "trusted": case.trusted_certs,
        "intermediates": case.untrusted_intermediates,
        "leaf": case.peer_certificate,
        "key": case.peer_certificate_key,
        "host": case.expected_peer_name.value,
        "time": case.validation_time and int(case.validation_time.timestamp()),
        "isAccepted": case.expected_result == ExpectedResult.SUCCESS,
    }
    for case in made
    if case.validation_kind == ValidationKind.SERVER
    and case.peer_certificate_key
    and case.expected_peer_name
    and case.max_chain_depth is None
    and not case.crls
]
print(f"{len(cases)} of {len(made)} cases")
with open(pathlib.Path(__file__).parent / "cases.json", "w") as file:
    json.dump(cases, file, indent=1)
    file.write("\n")
