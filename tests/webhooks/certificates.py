"""A certificate authority for one test, and a server's certificate by it."""

import ipaddress
import ssl
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pipeline_backend.db.timestamps import now

HOST = "127.0.0.1"


def self_signed(folder: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server at loopback needs to speak TLS, and what a client needs to believe it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now() - timedelta(days=1), now() + timedelta(days=1)
    )
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False
    )
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "server.pem"
    file.write_bytes(secret + certificate)
    speaks = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    speaks.load_cert_chain(file)
    return speaks, ssl.create_default_context(cadata=certificate.decode())
