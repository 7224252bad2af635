"""Reads event files of TensorBoard with nothing but the format's description: records with their checksums, and
the few messages in them."""

import struct

TABLE = []
for byte in range(256):
    crc = byte
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    TABLE.append(crc)


def masked_crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The whole records, and how many bytes of a torn one follow."""
    found = []
    while data:
        if len(data) < 12:
            break
        length, check = struct.unpack("<QI", data[:12])
        assert check == masked_crc32c(data[:8])
        if len(data) < 16 + length:
            break
        assert struct.unpack("<I", data[12 + length:16 + length])[0] == masked_crc32c(data[12:12 + length])
        found.append(data[12:12 + length])
        data = data[16 + length:]
    return found, len(data)


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def fields(data):
    """(number, value) of each field of a message."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        else:
            size = {1: 8, 5: 4}[kind]
            [value] = struct.unpack({1: "<d", 5: "<f"}[kind], data[at:at + size])
            at += size
        found.append((key >> 3, value))
    return found


def events(file):
    """Of each event its step, and {tag: value}, "START" or the version of the format."""
    found = []
    for record in records(file.read_bytes())[0]:
        message = dict(fields(record))
        assert message[1] > 1.6e9  # the time
        if 3 in message:
            what = message[3].decode()
        elif 7 in message:
            what = {1: "START"}[dict(fields(message[7]))[1]]
        else:
            values = [dict(fields(value)) for number, value in fields(message[5]) if number == 1]
            what = {value[1].decode(): value[2] for value in values}
        found.append((message[2], what))
    return found


def curves(folder):
    """{tag: {step: value}} of all files of a run, in order; a START takes away what comes at its step or later."""
    found = {}
    for file in sorted(folder.glob("*tfevents*")):
        for step, what in events(file):
            if what == "START":
                found = {tag: {at: value for at, value in curve.items() if at < step} for tag, curve in found.items()}
            elif isinstance(what, dict):
                for tag, value in what.items():
                    assert step not in found.setdefault(tag, {}), (tag, step)
                    found[tag][step] = value
    return found
