"""A proxy between servers and their PostgreSQL: FOLDER/N/.s.PGSQL.5432, for N below COUNT, lead to the socket PLACE.

usage: proxy.py FOLDER COUNT PLACE; then orders on standard input, each answered by a line:
    cut N       ends the connections of N
    before N    ends that connection of N which sends the next COMMIT of a writer, without passing that on
    after N     passes it on, waits for the answer and ends the connection without it
    during N    passes it on and ends the connection
    hold N      from now on passes nothing on of all connections of N, and of later ones, and keeps them open
    free N      ends those, and later ones are as they were
    go PLACE    ends all connections; later ones lead there
Ends when its standard input does.
"""
import asyncio
import os
import sys


class Side(asyncio.Protocol):
    """One end of a connection: what comes in goes out at the other.  What comes before that one is there is kept in `early`:
    Python 3.11.2 goes on reading when connection_made pauses it."""

    def __init__(self, door, other=None):
        self.door, self.other, self.transport, self.is_mute, self.early = door, other, None, False, b""

    def connection_made(self, transport):
        self.transport = transport
        if self.other is not None:  # to the database: now both are there
            self.other.other = self
            if self.other.transport.is_closing():
                return transport.close()
            early, self.other.early = self.other.early, b""
            return self.other.data_received(early) if early else None
        self.door.sides.add(self)
        if not self.door.is_held:
            self.opening = asyncio.ensure_future(self.open())  # which asyncio itself does not keep

    async def open(self):
        try:
            await asyncio.get_running_loop().create_unix_connection(lambda: Side(self.door, self), self.door.doors.place)
        except OSError:
            self.transport.abort()

    def data_received(self, data):
        if self.is_mute:
            return self.end()
        if self.other is None or self.door.is_held:
            self.early += data
            return None
        order = self.door.order
        if order and self in self.door.sides and b"leave_mark" in data and b"COMMIT" in data:
            self.door.order = None
            if order == "before":
                return self.end()
            self.other.is_mute = order == "after"
            self.other.transport.write(data)
            return self.end() if order == "during" else None
        return self.other.transport.write(data)

    def hold(self):
        self.transport.pause_reading()
        if self.other is not None:
            self.other.transport.pause_reading()

    def end(self):
        """Of both: what was written goes on its way to the database, nothing comes back."""
        self.door.sides -= {self, self.other}
        self.transport.close()
        if self.other is not None:
            self.other.transport.close()

    def connection_lost(self, _):
        self.end()


class Door:
    def __init__(self, doors):
        self.doors, self.sides, self.order, self.is_held = doors, set(), None, False

    def cut(self):
        for side in list(self.sides):
            side.end()

    def hold(self):
        self.is_held = True
        for side in self.sides:
            side.hold()

    def free(self):
        self.is_held = False
        self.cut()


class Doors:
    def __init__(self, place, count):
        self.place, self.doors = place, [Door(self) for _ in range(count)]

    def obey(self, order, of):
        if order == "go":
            self.place = of
            for door in self.doors:
                door.cut()
        elif order in ("cut", "hold", "free"):
            getattr(self.doors[int(of)], order)()
        else:
            self.doors[int(of)].order = order


async def main(folder, count, place):
    doors, loop = Doors(place, int(count)), asyncio.get_running_loop()
    for number, door in enumerate(doors.doors):
        os.makedirs(f"{folder}/{number}", exist_ok=True)
        await loop.create_unix_server(lambda door=door: Side(door), f"{folder}/{number}/.s.PGSQL.5432")
    orders = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    print("ready", flush=True)
    while line := (await orders.readline()).decode():
        doors.obey(*line.split())
        print("done", flush=True)


asyncio.run(main(*sys.argv[1:]))
