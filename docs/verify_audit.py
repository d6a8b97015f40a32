#!/usr/bin/env python3
"""Verifies one audit log of mcp-customs, and shares no code with it. The standard library does, but for --key (cryptography).

usage: verify_audit.py [--key PUBLIC_KEY.pem] [--head HASH] FILE...    (the files of one log, oldest first)
"""
import argparse, base64, hashlib, json, sys

options = argparse.ArgumentParser()
options.add_argument("--key")
options.add_argument("--head")
options.add_argument("files", nargs="+")
options = options.parse_args()
if options.key:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    key = load_pem_public_key(open(options.key, "rb").read())

seq, prev, torn, signed, head_found = 0, "0" * 64, None, not options.key, not options.head
for file in options.files:
    for number, line in enumerate(open(file, "rb"), 1):
        place = f"{file}:{number}"
        try:
            record = json.loads(line.decode("utf-8"))
        except ValueError:
            torn = torn or place  # a crash cut it short, if the next record opens the log again
            continue
        body = line[:-1].replace(b'"hash":"%s",' % record["hash"].encode(), b"", 1)
        if not line.endswith(b"\n") or hashlib.sha256(body).hexdigest() != record["hash"]:
            sys.exit(f"{place}: changed")
        first = seq == 0 and record.get("reason") == "continuation"  # older files were removed
        if not first and (record["seq"], record["prev"]) != (seq + 1, prev):
            sys.exit(f"{place}: does not follow the record before it")
        ours = record.get("event") if record.get("from", "relay") == "relay" else None  # what a peer asked is no event of the relay
        if torn and ours not in ("session/start", "audit/checkpoint"):
            sys.exit(f"{torn}: half-cut")
        if options.key and ours == "audit/checkpoint":
            signature = base64.b64decode(record.get("signature", ""))
            try:
                key.verify(signature, body.replace(b'"signature":"%s",' % record.get("signature", "").encode(), b"", 1))
            except Exception:
                sys.exit(f"{place}: not signed by the key")
            signed = True
        seq, prev, torn = record["seq"], record["hash"], None
        head_found = head_found or prev == options.head
if torn or not signed or not head_found:
    sys.exit(f"{torn}: half-cut" if torn else "the head is not there" if signed else "nothing is signed")
print(f"ok, {seq} records")
