"""Class files for tests, written without Java."""

from struct import pack

from streams_assignor.upgrade.application.class_file import MAGIC, PUBLIC

GETSTATIC, GETFIELD, INVOKEVIRTUAL, INVOKESTATIC, INVOKEINTERFACE, NEW = 0xB2, 0xB4, 0xB6, 0xB8, 0xB9, 0xBB
OBJECT = "java/lang/Object"


class ClassBytes:
    """A class file that is extended call by call."""

    def __init__(self, name, superclass=OBJECT, interfaces=(), flags=PUBLIC, java=8):
        self._pool, self._numbers, self._places = [], {}, 1
        self._head = pack(">HHH", flags, self.type(name), self.type(superclass) if superclass else 0)
        self._head += pack(">H", len(interfaces)) + b"".join(pack(">H", self.type(each)) for each in interfaces)
        self._fields, self._methods, self._attributes, self._bootstraps = [], [], [], []
        self._java = java

    def constant(self, tag, content, places=1):
        if (tag, content) not in self._numbers:
            self._numbers[tag, content] = self._places
            self._pool.append(bytes([tag]) + content)
            self._places += places
        return self._numbers[tag, content]

    def text(self, text):
        encoded = text.encode()
        return self.constant(1, pack(">H", len(encoded)) + encoded)

    def type(self, name):
        return self.constant(7, pack(">H", self.text(name)))

    def pair(self, name, descriptor):
        return self.constant(12, pack(">HH", self.text(name), self.text(descriptor)))

    def member(self, owner, name, descriptor, tag=10):
        return self.constant(tag, pack(">HH", self.type(owner), self.pair(name, descriptor)))

    def attribute(self, name, content=b""):
        self._attributes.append(self._attribute(name, content))
        return self

    def _attribute(self, name, content):
        return pack(">HI", self.text(name), len(content)) + content

    def field(self, name, descriptor="I", flags=PUBLIC, deprecated=False):
        self._fields.append(self._member(name, descriptor, flags, [("Deprecated", b"")] * deprecated))
        return self

    def method(self, name="run", descriptor="()V", code=None, flags=PUBLIC, caught=(), deprecated=False):
        attributes = [("Deprecated", b"")] * deprecated
        if code is not None:
            handlers = b"".join(pack(">HHHH", 0, 1, 0, self.type(each) if each else 0) for each in caught)
            body = pack(">HHI", 99, 99, len(code)) + code + pack(">H", len(caught)) + handlers + pack(">H", 0)
            attributes.append(("Code", body))
        self._methods.append(self._member(name, descriptor, flags, attributes))
        return self

    def calls(self, owner, name, descriptor="()V", opcode=INVOKEVIRTUAL, tag=10):
        """Add a method with one instruction about a member."""
        code = bytes([opcode]) + pack(">H", self.member(owner, name, descriptor, tag))
        return self.method(f"m{len(self._methods)}", code=code + bytes(2 * (opcode == INVOKEINTERFACE)))

    def makes(self, name, opcode=NEW):
        """Add a method with one instruction about a class."""
        return self.method(f"m{len(self._methods)}", code=bytes([opcode]) + pack(">H", self.type(name)))

    def lambda_of(self, interface, name, descriptor, factory="java/lang/invoke/LambdaMetafactory"):
        """Add a method with a lambda."""
        bootstrap = self.constant(15, pack(">BH", 6, self.member(factory, "metafactory", "()V")))
        arguments = [self.constant(16, pack(">H", self.text(descriptor)))]
        self._bootstraps.append(pack(">HH", bootstrap, len(arguments)) + b"".join(pack(">H", a) for a in arguments))
        index = self.constant(18, pack(">HH", len(self._bootstraps) - 1, self.pair(name, f"()L{interface};")))
        return self.method(f"m{len(self._methods)}", code=b"\xba" + pack(">HH", index, 0))

    def _member(self, name, descriptor, flags, attributes):
        head = pack(">HHHH", flags, self.text(name), self.text(descriptor), len(attributes))
        return head + b"".join(self._attribute(*each) for each in attributes)

    def bytes(self):
        if self._bootstraps:
            self.attribute("BootstrapMethods", pack(">H", len(self._bootstraps)) + b"".join(self._bootstraps))
            self._bootstraps = []
        lists = (pack(">H", len(each)) + b"".join(each) for each in (self._fields, self._methods, self._attributes))
        head = MAGIC + pack(">HHH", 0, self._java + 44, self._places)
        return head + b"".join(self._pool) + self._head + b"".join(lists)
