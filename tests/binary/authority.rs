//! An authority for the certificates of servers in tests.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// An authority, as a file that may be trusted.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) file: PathBuf,
}

impl Authority {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let file = folder.join(name);
        let certificate = params.self_signed(&key).expect("a certificate");
        std::fs::write(&file, certificate.pem()).expect("it is written");
        Self { issuer: Issuer::new(params, key), file }
    }

    /// The certificate and the key of a server with a name.
    pub(crate) fn certify(&self, name: &str) -> (Certificate, KeyPair) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        (params.signed_by(&key, &self.issuer).expect("a certificate"), key)
    }

    /// The server's end of TLS under a name.
    pub(crate) fn vouches(&self, name: &str) -> TlsAcceptor {
        let (certificate, key) = self.certify(name);
        acceptor(&certificate, &key)
    }
}

/// The server's end of TLS with a certificate.
pub(crate) fn acceptor(certificate: &Certificate, key: &KeyPair) -> TlsAcceptor {
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("they fit");
    TlsAcceptor::from(Arc::new(config))
}
