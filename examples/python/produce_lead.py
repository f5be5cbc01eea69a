"""Hands one lead in on the topic `leads` and prints where it landed, as one JSON line."""

import argparse
import io
import json
import os
import struct
from datetime import datetime, timezone
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from fastavro import parse_schema, schemaless_writer

from registry import Registry

HERE = Path(__file__).resolve().parent
TOPIC = "leads"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", default=os.environ.get("KAFKA_BROKERS"), help="host:port,… (KAFKA_BROKERS)")
    parser.add_argument("--registry", default=os.environ.get("SCHEMA_REGISTRY_URL"), help="Confluent-compatible base URL (SCHEMA_REGISTRY_URL)")
    parser.add_argument("--codec", default="none", choices=["none", "gzip", "snappy", "lz4", "zstd"])
    parser.add_argument("--lead", type=Path, default=HERE.parent / "lead.json", help="JSON file with the fields of LeadSubmitted")
    parser.add_argument("--schema", type=Path, default=HERE.parents[1] / "schemas" / "leads-value" / "v1.avsc")
    parser.add_argument("--source-event-id", help="the source's own id; replaces the one in the file")
    args = parser.parse_args()
    for name in ("brokers", "registry"):
        if not getattr(args, name):
            parser.error(f"--{name} is missing")
    return args


def read_lead(args: argparse.Namespace) -> dict:
    lead = json.loads(args.lead.read_text())
    if args.source_event_id:
        lead["source_event_id"] = args.source_event_id
    # The moment the person submitted: deadlines run from it. Real sources know it; the sample is submitted now.
    submitted_at = lead.get("submitted_at")
    lead["submitted_at"] = datetime.fromisoformat(submitted_at) if submitted_at else datetime.now(timezone.utc)
    return lead


def encode(lead: dict, schema_text: str, schema_id: int) -> bytes:
    """Magic byte, four-byte schema id, Avro binary."""
    out = io.BytesIO()
    out.write(struct.pack(">bI", 0, schema_id))
    schemaless_writer(out, parse_schema(json.loads(schema_text)), lead)
    return out.getvalue()


def main() -> None:
    args = arguments()
    schema_text = args.schema.read_text()
    schema_id = Registry(args.registry).id_of(f"{TOPIC}-value", schema_text)
    lead = read_lead(args)
    producer = Producer(
        {"bootstrap.servers": args.brokers, "compression.type": args.codec, "acks": "all", "enable.idempotence": True, "delivery.timeout.ms": 30_000}
    )
    reports: list = []
    # The key is the submission's own id, so that its repeats stay in order; never an e-mail or a phone.
    key = lead["source_event_id"].encode()
    producer.produce(TOPIC, encode(lead, schema_text, schema_id), key, on_delivery=lambda error, message: reports.append((error, message)))
    producer.flush(35)
    error, message = reports[0]
    if error is not None:
        raise KafkaException(error)
    print(
        json.dumps(
            {
                "source_event_id": lead["source_event_id"],
                "topic": message.topic(),
                "partition": message.partition(),
                "offset": message.offset(),
                "schema_id": schema_id,
                "codec": args.codec,
            }
        )
    )


if __name__ == "__main__":
    main()
