"""Reads schemas and ids from a Confluent-compatible registry. Never registers one: a contract is registered by its owner's deployment."""

import json
import urllib.error
import urllib.request

from fastavro import parse_schema

TIMEOUT_SECONDS = 10
CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class UnknownSchema(Exception):
    """The registry answered, and it has no such schema."""


class Registry:
    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self._by_id: dict[int, object] = {}

    def id_of(self, subject: str, schema_text: str) -> int:
        """Id of exactly this schema under the subject. Raises UnknownSchema when its owner has not registered it yet."""
        answer = self._call(f"/subjects/{subject}?normalize=true", {"schema": schema_text})
        return answer["id"]

    def schema(self, schema_id: int) -> object:
        """Parsed writer schema of an id, asked for once. Raises UnknownSchema, or URLError while the registry is away."""
        if schema_id not in self._by_id:
            answer = self._call(f"/schemas/ids/{schema_id}")
            self._by_id[schema_id] = parse_schema(json.loads(answer["schema"]))
        return self._by_id[schema_id]

    def _call(self, path: str, body: dict | None = None) -> dict:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"content-type": CONTENT_TYPE, "accept": CONTENT_TYPE})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code == 404:
                raise UnknownSchema(f"{self._url}{path} is not known to the registry") from error
            raise
