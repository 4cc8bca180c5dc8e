"""Storage as Spark's settings describe it, in the words of the library that reads Delta logs without Spark."""

from __future__ import annotations

from collections.abc import Mapping

PREFIX = "spark.hadoop.fs.s3a."
_NAMES = {
    "access.key": "AWS_ACCESS_KEY_ID",
    "secret.key": "AWS_SECRET_ACCESS_KEY",
    "session.token": "AWS_SESSION_TOKEN",
    "endpoint.region": "AWS_REGION",
}


def storage_options(config: Mapping[str, object]) -> dict[str, str]:
    """What is not said here is left to the usual AWS variables of the environment.

    >>> said = {f"{PREFIX}endpoint": "http://127.0.0.1:9000", f"{PREFIX}path.style.access": True}
    >>> sorted(storage_options(said))
    ['AWS_ALLOW_HTTP', 'AWS_ENDPOINT_URL', 'AWS_VIRTUAL_HOSTED_STYLE_REQUEST']
    """
    said = {key.removeprefix(PREFIX): str(value) for key, value in config.items() if key.startswith(PREFIX)}
    found = {_NAMES[key]: value for key, value in said.items() if key in _NAMES}
    endpoint = _address(said.get("endpoint", ""), said.get("connection.ssl.enabled", "true").lower() == "true")
    if endpoint:
        found |= {"AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": str(endpoint.startswith("http:")).lower()}
    if "path.style.access" in said:
        hosted = said["path.style.access"].lower() != "true"
        found["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] = str(hosted).lower()
    return found


def _address(endpoint: str, encrypted: bool) -> str:
    if not endpoint or "://" in endpoint:
        return endpoint
    return f"{'https' if encrypted else 'http'}://{endpoint}"
