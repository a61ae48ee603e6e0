//! Receivers of webhooks on the loopback, in whatever mood a test puts them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    pub(crate) id: String,
    pub(crate) timestamp: String,
    pub(crate) signature: String,
    pub(crate) body: String,
    /// The status that was answered; 0 where the connection was dropped.
    pub(crate) status: u16,
}

impl Arrived {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("a body of JSON")
    }

    /// The cursors and the objects with their verbs, in the order of the body.
    pub(crate) fn changes(&self) -> Vec<(String, String)> {
        let json = self.json();
        let changes = json["data"]["changes"].as_array().cloned().unwrap_or_default();
        let text = |change: &Value, name: &str| change[name].as_str().expect("text").to_owned();
        let told = |it: &Value| format!("{} {}", text(it, "object"), text(it, "verb"));
        changes.iter().map(|change| (text(change, "cursor"), told(change))).collect()
    }

    /// Whether one of its signatures is made with a secret as the server has shown it.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let key = secret.strip_prefix("whsec_").expect("a secret of Standard Webhooks");
        let key = hmac::Key::new(hmac::HMAC_SHA256, &STANDARD.decode(key).expect("Base64"));
        let signed = format!("{}.{}.{}", self.id, self.timestamp, self.body);
        let made = format!("v1,{}", STANDARD.encode(hmac::sign(&key, signed.as_bytes())));
        self.signature.split(' ').any(|signature| signature == made)
    }
}

/// What a receiver does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Status(u16),
    /// Drops the connection once all has arrived.
    Drop,
    /// Says nothing until the other side gives up.
    Hang,
}

/// Decides by the number of the request, from 0.
type Mood = Box<dyn FnMut(usize, &Arrived) -> Reply + Send>;

/// A receiver, running until dropped.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    mood: Arc<Mutex<Mood>>,
    _runtime: Runtime,
}

impl Receiver {
    pub(crate) fn open(mood: impl FnMut(usize, &Arrived) -> Reply + Send + 'static) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
        let address = listener.local_addr().expect("an address");
        let arrived = Arc::<Mutex<Vec<Arrived>>>::default();
        let mood: Arc<Mutex<Mood>> = Arc::new(Mutex::new(Box::new(mood)));
        let (kept, decides) = (Arc::clone(&arrived), Arc::clone(&mood));
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&kept), Arc::clone(&decides)));
            }
        });
        Self { address, arrived, mood, _runtime: runtime }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?x=1", self.address)
    }

    /// All requests so far.
    pub(crate) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Requests that were answered with success, each id once.
    pub(crate) fn taken(&self) -> Vec<Arrived> {
        let mut known = BTreeMap::new();
        let all = self.arrived().into_iter().filter(|it| (200..300).contains(&it.status));
        all.filter(|it| known.insert(it.id.clone(), ()).is_none()).collect()
    }

    pub(crate) fn changes_mood(&self, mood: impl FnMut(usize, &Arrived) -> Reply + Send + 'static) {
        *self.mood.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(mood);
    }
}

async fn answer(stream: TcpStream, kept: Arc<Mutex<Vec<Arrived>>>, mood: Arc<Mutex<Mood>>) {
    let mut stream = BufReader::new(stream);
    let Some(mut arrived) = read(&mut stream).await else { return };
    let reply = {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let number = kept.len();
        let reply = (mood.lock().unwrap_or_else(PoisonError::into_inner))(number, &arrived);
        if let Reply::Status(status) = reply {
            arrived.status = status;
        }
        kept.push(arrived);
        reply
    };
    match reply {
        Reply::Drop => {}
        Reply::Hang => drop(stream.read(&mut [0]).await),
        Reply::Status(status) => {
            let head =
                format!("HTTP/1.1 {status} x\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            drop(stream.write_all(head.as_bytes()).await);
            drop(stream.shutdown().await);
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Arrived> {
    let mut fields = BTreeMap::new();
    let mut line = String::new();
    stream.read_line(&mut line).await.ok()?;
    // The server was killed before it had sent anything.
    if !line.ends_with('\n') {
        return None;
    }
    assert!(line.starts_with("POST /hook?x=1 HTTP/1.1"), "{line}");
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        fields.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; fields.get("content-length")?.parse().ok()?];
    stream.read_exact(&mut body).await.ok()?;
    assert_eq!(fields["content-type"], "application/json");
    Some(Arrived {
        id: fields["webhook-id"].clone(),
        timestamp: fields["webhook-timestamp"].clone(),
        signature: fields["webhook-signature"].clone(),
        body: String::from_utf8(body).expect("text"),
        status: 0,
    })
}
