//! A site of a shop on another origin, whose page shows the booking page in a frame.

use rcgen::{CertificateParams, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::authority::acceptor;

/// A port that serves a site, once its page is known.
pub(crate) struct Site {
    listener: TcpListener,
    pub(crate) port: u16,
}

impl Site {
    pub(crate) async fn bind() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        Self { listener, port }
    }

    /// Its origin. The name differs from that of the server, so that the site is another one.
    pub(crate) fn origin(&self) -> String {
        format!("http://localhost:{}", self.port)
    }

    /// Answers every request with a page.
    pub(crate) fn show(self, page: String) {
        tokio::spawn(async move {
            loop {
                let (stream, _) = self.listener.accept().await.expect("a connection");
                tokio::spawn(answer(stream, page.clone()));
            }
        });
    }

    /// The same over TLS, by a certificate of its own.
    pub(crate) fn show_secretly(self, name: &str, page: String) {
        let acceptor = self_signed(name);
        tokio::spawn(async move {
            loop {
                let (stream, _) = self.listener.accept().await.expect("a connection");
                let (acceptor, page) = (acceptor.clone(), page.clone());
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        answer(stream, page).await;
                    }
                });
            }
        });
    }

    /// Passes every connection on to a server, as a proxy that speaks TLS.
    pub(crate) fn stand_before(self, name: &str, address: &str) {
        let (acceptor, address) = (self_signed(name), address.to_owned());
        tokio::spawn(async move {
            loop {
                let (stream, _) = self.listener.accept().await.expect("a connection");
                let (acceptor, address) = (acceptor.clone(), address.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut server = TcpStream::connect(address).await.expect("the server");
                    // An end of either side ends both.
                    drop(tokio::io::copy_bidirectional(&mut stream, &mut server).await);
                });
            }
        });
    }
}

/// Answers one request, and ends the connection.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, page: String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n{page}",
        page.len()
    );
    // A browser may have left meanwhile.
    drop(stream.write_all(answer.as_bytes()).await);
    drop(stream.shutdown().await);
}

fn self_signed(name: &str) -> TlsAcceptor {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    acceptor(&certificate, &key)
}

/// The page of a site, with the snippet of docs/embedding.md in its middle. It keeps the messages
/// and the events that arrive.
pub(crate) fn page_with(snippet: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>The site of a shop</title><link rel=\"icon\" href=\"data:,\">\
         <script>const messages = []; const events = []; const names = Object.keys(window);\
         addEventListener('message', (one) => messages.push([one.origin, one.data]));\
         addEventListener('slotbook', (one) => events.push(one.detail));</script></head>\
         <body><main><h1>A shop</h1><p><a id=\"before\" href=\"#before\">Before</a></p>\n\
         {snippet}\n<p><a id=\"after\" href=\"#after\">After</a></p></main></body></html>"
    )
}

/// A snippet of docs/embedding.md for a server: 1 shows a frame, 2 a button.
pub(crate) fn snippet(server: &str, number: usize) -> String {
    let document = include_str!("../../docs/embedding.md");
    let rest = document.split("```html\n").nth(number).expect("a block");
    let block = rest.split("```").next().expect("a block");
    block.replace("https://rdv.example.net", server).replace("my-shop", "cut-co")
}
