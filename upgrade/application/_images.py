"""Images of containers, as ``docker save`` and the OCI's image layout have them: the files that a container sees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import evolve, field, frozen

from streams_assignor.upgrade.application._entry import ArchiveEntry, Unreadable
from streams_assignor.upgrade.application._tar_files import TarMember, tar_entry
from streams_assignor.upgrade.input_values import InvalidInput, parse_json

MAX_JSON_BYTES: Final = 1 << 22
MAX_IMAGES: Final = 100
_DOCKER, _LAYOUT, _INDEX = "manifest.json", "oci-layout", "index.json"
_WHITEOUT: Final = ".wh."
_OPAQUE: Final = ".wh..wh..opq"
_REFERENCE: Final = "vnd.docker.reference.type"
"""The annotation of what is no image: an attestation of one."""
Layer = tuple[Any, list[TarMember]]
"""A tar, and what is in it."""


@frozen
class Image:
    """An image: its layers from the lowest one, and the command that it runs."""

    layers: tuple[ArchiveEntry, ...]
    command: str = field(default="", eq=False)


def read_image(entries: Iterable[ArchiveEntry], name: str) -> Image | None:
    """Return the image that some files are; None if they are none.

    Raises:
        Unreadable: There are several images, or a part is not there.
    """
    files = {entry.name: entry for entry in entries}
    images = list(dict.fromkeys(_docker_images(files))) or list(dict.fromkeys(_layout_images(files)))
    if len(images) > 1:
        raise Unreadable(f"expected one image of one platform, got {name} with {len(images)}: save one of them")
    return images[0] if images else None


def _docker_images(files: Mapping[str, ArchiveEntry]) -> Iterator[Image]:
    described = _json(files, _DOCKER) if _DOCKER in files else None
    if not isinstance(described, list):
        return
    for image in described:
        if isinstance(image, dict) and isinstance(image.get("Layers"), list):  # other files have this name, too
            layers = tuple(_part(files, layer) for layer in image["Layers"])
            yield Image(layers, _command(_json(files, image.get("Config"))))


def _layout_images(files: Mapping[str, ArchiveEntry]) -> Iterator[Image]:
    if _LAYOUT not in files or _INDEX not in files:
        return
    waiting, seen = [_json(files, _INDEX)], 0
    while waiting:
        found, seen = waiting.pop(), seen + 1
        if seen > MAX_IMAGES:
            raise Unreadable(f"expected at most {MAX_IMAGES} images in a layout, got more")
        waiting += (
            _json(files, _blob(manifest))
            for manifest in _list(found, "manifests")
            if _REFERENCE not in _dict(manifest, "annotations")
        )
        if layers := _list(found, "layers"):
            command = _command(_json(files, _blob(_dict(found, "config"))))
            yield Image(tuple(_part(files, _blob(layer)) for layer in layers), command)


def visible_files(layers: Iterable[Layer]) -> Iterator[ArchiveEntry]:
    """Yield the files that a container sees.

    Each file is looked at once: from the uppermost layer down, with a tree of what upper layers have or remove.

    Args:
        layers: From the lowest one.
    """
    seen: dict[str, Any] = {}
    for file, members in reversed(list(layers)):
        below: list[tuple[tuple[str, ...], bool]] = []
        by_name = {member.name: member for member in members}
        for member in by_name.values():
            *folder, last = member.name.split("/")
            if last == _OPAQUE:
                below.append((tuple(folder), True))
            elif last.startswith(_WHITEOUT):
                below.append(((*folder, last.removeprefix(_WHITEOUT)), True))
            else:
                path = (*folder, last)
                content = by_name.get(member.link, member) if member.is_hard_link else member
                if not content.is_folder and not _is_hidden(seen, path):
                    yield tar_entry(file, evolve(content, name=member.name))
                below.append((path, not member.is_folder))
        for path, hides_all in below:
            _mark(seen, path, hides_all=hides_all)


def _is_hidden(seen: dict[str, Any], path: tuple[str, ...]) -> bool:
    for part in path:
        if "" in seen:
            return True
        if part not in seen:
            return False
        seen = seen[part]
    return True


def _mark(seen: dict[str, Any], path: tuple[str, ...], *, hides_all: bool) -> None:
    """Note what a layer has at a path; ``hides_all``: it hides what lower layers have below it, too."""
    for part in filter(None, path):
        seen = seen.setdefault(part, {})
    if hides_all:
        seen[""] = True


def _json(files: Mapping[str, ArchiveEntry], name: Any) -> Any:
    entry = _part(files, name)
    content = entry.content() if entry.size <= MAX_JSON_BYTES else None
    if content is None:
        raise Unreadable(f"expected JSON of at most {MAX_JSON_BYTES:,} bytes, got {name} in an image")
    try:
        return parse_json(content)
    except InvalidInput:
        return None


def _part(files: Mapping[str, ArchiveEntry], name: Any) -> ArchiveEntry:
    if not isinstance(name, str) or name not in files:
        raise Unreadable(f"expected an image with all its parts, got one without {name}")
    return files[name]


def _blob(descriptor: Any) -> str:
    return "blobs/" + str(_get(descriptor, "digest", "")).replace(":", "/")


def _command(config: Any) -> str:
    run = _dict(config, "config")
    return "\n".join(str(word) for key in ("Entrypoint", "Cmd") for word in _list(run, key))


def _get(value: Any, key: str, default: Any) -> Any:
    return value.get(key, default) if isinstance(value, dict) else default


def _dict(value: Any, key: str) -> dict[str, Any]:
    part = _get(value, key, None)
    return part if isinstance(part, dict) else {}


def _list(value: Any, key: str) -> list[Any]:
    part = _get(value, key, None)
    return part if isinstance(part, list) else []
