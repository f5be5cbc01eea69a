"""Reads `lead.accepted` and prints each event once, as one JSON line. Stops after --count events, or never."""

import argparse
import io
import json
import os
import struct
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import Consumer, KafkaException
from fastavro import parse_schema, schemaless_reader

from registry import Registry, UnknownSchema

HERE = Path(__file__).resolve().parent
TOPIC = "lead.accepted"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", default=os.environ.get("KAFKA_BROKERS"), help="host:port,… (KAFKA_BROKERS)")
    parser.add_argument("--registry", default=os.environ.get("SCHEMA_REGISTRY_URL"), help="Confluent-compatible base URL (SCHEMA_REGISTRY_URL)")
    parser.add_argument("--group", default="example-python", help="your own consumer group; never one of the product's")
    parser.add_argument("--count", type=int, help="stop after so many distinct events")
    parser.add_argument("--timeout", type=float, default=60, help="with --count: give up after so many seconds (exit 3)")
    parser.add_argument("--schema", type=Path, default=HERE.parents[1] / "schemas" / "lead.accepted-value" / "v1.avsc", help="the reader's own schema")
    args = parser.parse_args()
    for name in ("brokers", "registry"):
        if not getattr(args, name):
            parser.error(f"--{name} is missing")
    return args


def decode(value: bytes, registry: Registry, reader_schema: object) -> tuple[dict, int]:
    """The event in the shape of the reader's schema, whatever version wrote it, and the writer's schema id."""
    magic, schema_id = struct.unpack(">bI", value[:5])
    if magic != 0:
        raise ValueError("the record does not start with the magic byte 0")
    return schemaless_reader(io.BytesIO(value[5:]), registry.schema(schema_id), reader_schema), schema_id


def as_text(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    raise TypeError(f"unexpected {type(value).__name__}")


def main() -> None:
    args = arguments()
    registry = Registry(args.registry)
    reader_schema = parse_schema(json.loads(args.schema.read_text()))
    consumer = Consumer(
        {"bootstrap.servers": args.brokers, "group.id": args.group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([TOPIC])
    # The topic is at least once: the same event can come again. Keep this where your effect is kept (a unique key on event_id), not in memory.
    seen: set[str] = set()
    give_up_at = time.monotonic() + args.timeout
    while args.count is None or len(seen) < args.count:
        if args.count is not None and time.monotonic() > give_up_at:
            print(f"only {len(seen)} of {args.count} events arrived", file=sys.stderr)
            sys.exit(3)
        message = consumer.poll(0.5)
        if message is None:
            continue
        if message.error():
            raise KafkaException(message.error())
        handle(message, registry, reader_schema, seen)
        # After the effect, never before: a crash in between repeats the event instead of losing it.
        consumer.commit(message, asynchronous=False)
    consumer.close()


def handle(message, registry: Registry, reader_schema: object, seen: set[str]) -> None:
    where = f"{message.topic()}/{message.partition()}@{message.offset()}"
    if message.value() is None:
        print(f"{where} has no value: skipped", file=sys.stderr)
        return
    try:
        event, schema_id = decode(message.value(), registry, reader_schema)
    except (UnknownSchema, ValueError, struct.error, EOFError) as problem:
        # One unreadable record must not stop the ones behind it. A registry that is away is another matter: that ends the program uncommitted.
        print(f"{where} cannot be read ({problem}): skipped", file=sys.stderr)
        return
    if event["event_id"] in seen:
        return
    seen.add(event["event_id"])
    print(json.dumps({"writer_schema_id": schema_id, "event": event}, default=as_text), flush=True)


if __name__ == "__main__":
    main()
