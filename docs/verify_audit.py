#!/usr/bin/env python3
"""Verifies one audit log of mcp-customs, and shares no code with it. The standard library does, but for --key (cryptography).

usage: verify_audit.py [--key PUBLIC_KEY.pem] [--head HASH] FILE...    (the files of one log, oldest first)
"""
import argparse, base64, decimal, hashlib, json, math, os, re, sys


class Damaged(Exception):
    pass


def number(value):
    """As ECMAScript writes it (RFC 8785, 3.2.2.3)."""
    if not math.isfinite(value):
        raise ValueError
    if value == 0:
        return "0"
    sign, digits, exponent = decimal.Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    point, text = len(text) + exponent, text.rstrip("0")
    if len(text) <= point <= 21:
        text = text + "0" * (point - len(text))
    elif 0 < point <= 21:
        text = text[:point] + "." + text[point:]
    elif -6 < point <= 0:
        text = "0." + "0" * -point + text
    else:
        text = text[0] + ("." + text[1:] if len(text) > 1 else "") + "e%+d" % (point - 1)
    return "-" * sign + text


def canonical(value):
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return number(value)
    text = json.dumps(value, ensure_ascii=False)
    return re.sub("[\ud800-\udfff]", lambda lone: "\\u%04x" % ord(lone[0]), text)


def no_constant(name):
    raise ValueError(name)  # NaN and Infinity are no JSON


def parse(line):
    """The record that a line is, and its text; None when it is no JSON."""
    try:
        text = line.decode("utf-8")
        return json.loads(text, parse_int=float, parse_constant=no_constant), text
    except (ValueError, RecursionError):
        return None, ""


OPENINGS = [b'{"%s":' % name for name in (b"bytes", b"client", b"digest", b"error", b"event")]


def is_torn(line):
    """Whether it may be the beginning of a record. Where the power was lost, zeros stand for what was not written."""
    start = line.rstrip(b"\0")[:20]
    return line != b"" and any(opening.startswith(start) or start.startswith(opening) for opening in OPENINGS)


def own_event(record):
    """What a peer asked is no event of the relay."""
    return record["event"] if record.get("from", "relay") == "relay" else None


def is_sealed(record, text):
    try:
        sealed = text.replace('"hash":"%s",' % record["hash"], "", 1).encode("utf-8", "surrogatepass")
        return canonical(record) == text and hashlib.sha256(sealed).hexdigest() == record["hash"]
    except (ValueError, RecursionError):
        return False


def verify(files, key=None, head=None):
    """The number of records from the beginning of the log on. Raises Damaged at the first line that is wrong."""
    seq, prev, count, torn, zeros, signed, head_found = 0, "0" * 64, 0, None, False, not key, not head
    for file in files:
        for index, whole in enumerate(open(file, "rb"), 1):
            place, line = f"{file}:{index}", whole[:-1] if whole.endswith(b"\n") else whole
            record, text = parse(line)
            is_record = isinstance(record, dict) and isinstance(record.get("seq"), float) and all(
                isinstance(record.get(name), str) for name in ("hash", "prev", "event", "time"))
            if not is_record or line is whole:
                if is_record or text == "" and is_torn(line):  # a crash cut it short, if a checkpoint follows that opens the log again
                    torn, zeros = torn or place, whole.endswith(b"\0")
                    continue
                raise Damaged(f"{torn or place}: half-cut" if torn or text == "" else f"{place}: not a record")
            reason, event = record.get("reason"), own_event(record)
            checkpoint = reason if event == "audit/checkpoint" else None
            earlier = count == 0 and checkpoint and "log" in record and record["seq"] > 1  # older files were removed
            follows = earlier or (record["seq"], record["prev"]) == (seq + 1, prev)
            if torn and not (follows and (event == "session/start" or checkpoint in ("start", "continuation"))):
                raise Damaged(f"{torn}: half-cut")
            if not is_sealed(record, text):
                raise Damaged(f"{place}: changed")
            if not follows:
                raise Damaged(f"{place}: does not follow the record before it")
            if key and event == "audit/checkpoint":
                signature = str(record.get("signature", ""))
                try:
                    signed_text = canonical({name: record[name] for name in record if name not in ("hash", "signature")})
                    key.verify(base64.b64decode(signature), signed_text.encode())
                except Exception:
                    raise Damaged(f"{place}: not signed by the key")
                signed = True
            seq, prev, count, torn, zeros = record["seq"], record["hash"], count + 1, None, False
            head_found = head_found or prev == head
    if torn and not zeros:
        raise Damaged(f"{torn}: half-cut")
    if count == 0 and not torn and not any(os.path.exists(file + ".lost") for file in files):
        raise Damaged(f"{files[0]}:1: the file is empty")
    if not signed or not head_found:
        raise Damaged("the head is not there" if signed else "nothing is signed")
    return int(seq)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--key")
    options.add_argument("--head")
    options.add_argument("files", nargs="+")
    options = options.parse_args()
    if options.key:
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
        options.key = load_pem_public_key(open(options.key, "rb").read())
    try:
        print(f"ok, {verify(options.files, options.key, options.head)} records")
    except Damaged as damage:
        sys.exit(str(damage))
