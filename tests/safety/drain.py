"""A collector for the safety tests: accepts agents, keeps what they say, decodes just enough of it.

Frames are cut by their length and by top-level protobuf fields only; the memfd is read through the layout of proto/wire/shm.h.
"""
import mmap
import os
import socket
import struct
import threading

HELLO, INTERN, BATCH, CLOCK, HEALTH, CONTROL, STATE, GOODBYE = 2, 3, 4, 5, 6, 7, 8, 9


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(field number, value) of one message; bytes for length-delimited fields."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        elif tag & 7 == 1:
            value, at = data[at:at + 8], at + 8
        else:
            value, at = data[at:at + 4], at + 4
        yield tag >> 3, value


class Connection:
    def __init__(self):
        self.frames = []  # (kind, body)
        self.memory_fds = []
        self.bytes = 0
        self.closed = threading.Event()
        self.socket = None

    def of_kind(self, kind):
        return [body for found, body in self.frames if found == kind]

    def hello(self):
        return dict(fields(self.of_kind(HELLO)[0]))

    def batches(self):
        return [dict(fields(body)) for body in self.of_kind(BATCH)]

    def records(self):
        return sum(batch.get(3, 0) for batch in self.batches())


class Collector:
    """Listens until closed; every connection is drained on a thread of its own."""

    def __init__(self, path, reads=True):
        self.path, self.connections, self.reads = path, [], reads
        if os.path.exists(path):
            os.unlink(path)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(path)
        self.listener.listen(256)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            connection = Connection()
            connection.socket = client
            self.connections.append(connection)
            threading.Thread(target=self._drain, args=(client, connection), daemon=True).start()

    def _drain(self, client, connection):
        pending = b""
        while self.reads:
            try:
                data, ancillary, _, _ = client.recvmsg(1 << 20, socket.CMSG_SPACE(4))
            except OSError:
                break
            for _, _, fd in ancillary:
                connection.memory_fds.append(struct.unpack("i", fd)[0])
            if not data:
                break
            connection.bytes += len(data)
            pending += data
            at = 0
            while at + 4 <= len(pending):
                length, = struct.unpack_from("<I", pending, at)
                if at + 4 + length > len(pending):
                    break
                connection.frames += fields(pending[at + 4:at + 4 + length])
                at += 4 + length
            pending = pending[at:]
        connection.closed.set()

    def close(self, hang_up=False):
        self.listener.close()
        os.unlink(self.path)
        if hang_up:
            for connection in self.connections:
                connection.socket.close()

    def release(self):
        for connection in self.connections:
            for fd in connection.memory_fds:
                os.close(fd)
            connection.socket.close()


class SharedMemory:
    """Reads a memfd as a collector would after the process is gone."""

    def __init__(self, fd):
        self.map = mmap.mmap(fd, os.fstat(fd).st_size, prot=mmap.PROT_READ)
        head = struct.unpack_from("<QHHIQQ5Q8I", self.map, 0)
        self.magic, self.major, self.minor, self.pid, self.start_ns, self.bytes = head[:6]
        self.waiters_at, self.slots_at, self.strings_at, self.rings_at, self.big_at = head[6:11]
        (self.waiter_count, self.slot_count, self.string_capacity, self.string_bytes, self.ring_records,
         self.big_records, self.big_count, _) = head[11:19]
        self.control, self.threshold, self.slots_used = struct.unpack_from("<III", self.map, 104)

    def counter(self, index):
        return struct.unpack_from("<Q", self.map, 184 + 8 * index)[0]

    def slot(self, index):
        at = self.slots_at + index * 192
        state, tid, start = struct.unpack_from("<IIQ", self.map, at)
        big, = struct.unpack_from("<I", self.map, at + 36)
        head, short = struct.unpack_from("<QQ", self.map, at + 64)
        version, kind, call, obj, begin = struct.unpack_from("<IHHQQ", self.map, at + 80)
        drained, lost = struct.unpack_from("<QQ", self.map, at + 128)
        return dict(state=state, tid=tid, start=start, big=big, head=head, short=short, call_plus_one=call, object=obj,
                    begin=begin, drained=drained, lost=lost)

    def records(self, index):
        """Complete records from `drained` on: (sequence, begin, duration, object, argument, detail, kind, call, result)."""
        slot = self.slot(index)
        size = self.big_records if slot["big"] else self.ring_records
        base = self.big_at + (slot["big"] - 1) * size * 64 if slot["big"] else self.rings_at + index * size * 64
        for number in range(max(slot["drained"], slot["head"] - size), slot["head"]):
            fields_of = struct.unpack_from("<QQQQQQIIHHi", self.map, base + number % size * 64)
            if fields_of[0] == number + 1:
                yield fields_of[:6] + fields_of[8:]

    def slots(self):
        return [self.slot(index) for index in range(min(self.slots_used, self.slot_count))]
