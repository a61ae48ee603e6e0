//! The address of a shared store: hosts, user, database and TLS, as libpq's URLs have them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls_platform_verifier::Verifier;
use tokio_postgres::config::{LoadBalanceHosts, SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{Client, Config, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::{
    CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error as TlsError, RootCertStore,
    SignatureScheme,
};

use crate::store::error::StoreError;

/// Longest time to reach one address of a host. They are tried in a random order, so that a silent
/// one does not keep a server from the others.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Longest time for which bytes may stay unacknowledged.
const TCP_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection and its means to send statements.
type PostgresConnection =
    (Client, Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>);

/// Proof that a server is the right one, as libpq's `sslmode` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verification {
    /// None: the bytes are encrypted, if that, for any server that answers.
    None,
    /// By an authority, whatever the name.
    Authority,
    /// By an authority, and by its name.
    Name,
}

/// The address of a shared store, which shows no password.
#[derive(Clone)]
pub(crate) struct SharedAddress {
    /// The configurations of each host, in the order in which they are tried.
    hosts: Vec<Vec<Config>>,
    tls: MakeRustlsConnect,
    /// The address as it was given, without its parameters.
    shown: String,
}

impl fmt::Debug for SharedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedAddress").field(&self.shown).finish()
    }
}

impl fmt::Display for SharedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl SharedAddress {
    /// Reads a URL `postgres://USER@HOST:PORT,HOST:PORT/DATABASE?sslmode=…`. Of several hosts, the
    /// writable one is used. The URL has no password: `password` is it, or empty for none.
    ///
    /// # Errors
    /// A URL that is none or has a password, an unknown `sslmode`, or a file of authorities that
    /// cannot be read.
    pub(crate) fn parse(url: &str, password: &str) -> Result<Self, StoreError> {
        let refuse = |what: String| StoreError::shared("read the address of", what);
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        if !base.starts_with("postgres://") && !base.starts_with("postgresql://") {
            return Err(refuse("it does not begin with postgres://".to_owned()));
        }
        let mut others = form_urlencoded::Serializer::new(String::new());
        let mut mode = "prefer".to_owned();
        let mut authorities = None;
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "sslmode" => mode = value.into_owned(),
                "sslrootcert" => authorities = Some(PathBuf::from(&*value)),
                _ => drop(others.append_pair(&name, &value)),
            }
        }
        let others = others.finish().replace('+', "%20");
        let mut hosts = Vec::new();
        for base in bases_of_hosts(base) {
            let config: Config = format!("{base}?{others}")
                .parse()
                .map_err(|error| refuse(format!("it is no address of PostgreSQL: {error}")))?;
            hosts.push(config);
        }
        let required = [SslMode::Require].as_slice();
        let (ssl_modes, verification) = match mode.as_str() {
            "disable" => ([SslMode::Disable].as_slice(), Verification::None),
            // As in libpq: the second is for a server that refuses the first.
            "allow" => ([SslMode::Disable, SslMode::Require].as_slice(), Verification::None),
            "prefer" => ([SslMode::Prefer, SslMode::Disable].as_slice(), Verification::None),
            // A file of authorities asks for a check by them.
            "require" if authorities.is_some() => (required, Verification::Authority),
            "require" => (required, Verification::None),
            "verify-ca" => (required, Verification::Authority),
            "verify-full" => (required, Verification::Name),
            other => {
                return Err(refuse(format!(
                    "its sslmode is {other:?}: give disable, allow, prefer, require, verify-ca \
                     or verify-full"
                )));
            }
        };
        for config in &mut hosts {
            config
                .target_session_attrs(TargetSessionAttrs::ReadWrite)
                .connect_timeout(CONNECT_TIMEOUT)
                .load_balance_hosts(LoadBalanceHosts::Random)
                .tcp_user_timeout(TCP_TIMEOUT)
                .application_name("slotbook");
            if config.get_password().is_some() {
                let what = "it holds a password, which other users of the machine could read: give \
                            it by SLOTBOOK_SHARED_PASSWORD or --shared-password-file";
                return Err(refuse(what.to_owned()));
            }
            if !password.is_empty() {
                config.password(password);
            }
        }
        let tls = MakeRustlsConnect::new(tls_config(verification, authorities.as_deref())?);
        let with_mode = |host: &Config, mode: &SslMode| {
            let mut config = host.clone();
            config.ssl_mode(*mode);
            config
        };
        let hosts = hosts
            .iter()
            .map(|host| ssl_modes.iter().map(|mode| with_mode(host, mode)).collect())
            .collect();
        Ok(Self { hosts, tls, shown: base.to_owned() })
    }

    /// The number of hosts.
    pub(super) fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// Connects to a host. Where it refuses a connection with TLS, or one without, the other is
    /// tried if the address allows both.
    ///
    /// # Errors
    /// That of the last try.
    pub(super) async fn connect(&self, host: usize) -> Result<PostgresConnection, Error> {
        let mut refused = None;
        for config in &self.hosts[host] {
            match config.connect(self.tls.clone()).await {
                // One that cannot be reached, or takes no writes, would say so once more.
                Err(error) if error.as_db_error().is_some() => refused = Some(error),
                done => return done,
            }
        }
        Err(refused.expect("each host has a configuration"))
    }
}

/// Returns the part of a URL before its parameters once for each host, with that host alone.
fn bases_of_hosts(base: &str) -> Vec<String> {
    let (scheme, rest) = base.split_once("://").expect("it was looked at");
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let user_end = authority.rfind('@').map_or(0, |at| at + 1);
    let (user, hosts) = authority.split_at(user_end);
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}")).collect()
}

fn tls_config(
    verification: Verification,
    authorities: Option<&Path>,
) -> Result<ClientConfig, StoreError> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match verification {
        Verification::None => Arc::new(AnyName { provider: Arc::clone(&provider), chain: None }),
        Verification::Authority => {
            let chain = Some(by_authorities(&provider, authorities)?);
            Arc::new(AnyName { provider: Arc::clone(&provider), chain })
        }
        Verification::Name => by_authorities(&provider, authorities)?,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(config)
}

/// Returns the check of chain and name by the authorities of a file, or by those of this machine.
fn by_authorities(
    provider: &Arc<CryptoProvider>,
    file: Option<&Path>,
) -> Result<Arc<dyn ServerCertVerifier>, StoreError> {
    let refuse = |what: String| StoreError::shared("read the address of", what);
    let Some(path) = file else {
        let verifier = Verifier::new(Arc::clone(provider)).map_err(|error| {
            refuse(format!("the authorities of this machine cannot be read: {error}"))
        })?;
        return Ok(Arc::new(verifier));
    };
    let wrong = |reason: String| {
        refuse(format!("its sslrootcert {} cannot be read: {reason}", path.display()))
    };
    let pem = fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    Ok(built.build().map_err(|error| wrong(error.to_string()))?)
}

/// Takes a certificate for any name: one that `chain` takes, or every one without it.
#[derive(Debug)]
struct AnyName {
    provider: Arc<CryptoProvider>,
    chain: Option<Arc<dyn ServerCertVerifier>>,
}

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        let verified =
            chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // The name is checked after the chain of authorities.
            Err(TlsError::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::config::Host;

    use super::*;

    fn modes(address: &SharedAddress) -> Vec<SslMode> {
        address.hosts[0].iter().map(Config::get_ssl_mode).collect()
    }

    fn refusal(url: &str) -> String {
        SharedAddress::parse(url, "").unwrap_err().to_string()
    }

    #[test]
    fn an_address_has_hosts_and_shows_no_password() {
        let address =
            SharedAddress::parse("postgres://anna@db1:5433,db2/slots?sslmode=disable", "secret");
        let address = address.unwrap();
        let named = |name: &str| vec![Host::Tcp(name.to_owned())];
        let hosts: Vec<_> = address.hosts.iter().map(|host| host[0].get_hosts().to_vec()).collect();
        assert_eq!(hosts, [named("db1"), named("db2")]);
        assert_eq!(address.hosts[0][0].get_ports(), [5433]);
        for host in address.hosts.iter().flatten() {
            assert_eq!(host.get_dbname(), Some("slots"));
            assert_eq!(host.get_user(), Some("anna"));
            assert_eq!(host.get_password(), Some(b"secret".as_slice()));
            assert_eq!(host.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        }
        assert_eq!(address.to_string(), "postgres://anna@db1:5433,db2/slots");
        assert!(!format!("{address:?}").contains("secret"));
        let address = SharedAddress::parse("postgres://anna@db/slots", "").unwrap();
        assert_eq!(address.hosts[0][0].get_password(), None);
        assert_eq!(modes(&address), [SslMode::Prefer, SslMode::Disable]);
        let address = SharedAddress::parse("postgres://anna@db/slots?sslmode=allow", "").unwrap();
        assert_eq!(modes(&address), [SslMode::Disable, SslMode::Require]);
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_rule() {
        assert!(refusal("mysql://db/slots").contains("postgres://"));
        let refused = refusal("postgres://anna:secret@db/slots");
        assert!(refused.contains("SLOTBOOK_SHARED_PASSWORD"), "{refused}");
        assert!(!refused.contains("secret@"), "{refused}");
        assert!(refusal("postgres://db/slots?sslmode=maybe").contains("verify-full"));
        let missing = refusal("postgres://db/slots?sslmode=verify-ca&sslrootcert=/nowhere.pem");
        assert!(missing.contains("/nowhere.pem cannot be read"), "{missing}");
    }
}
