//! An identity provider with keys of its own, for tests of the sign-in.

use axum::{
    Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use data_encoding::{BASE64, BASE64URL_NOPAD};
use ring::{
    rand::SystemRandom,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
        RsaPublicKeyComponents,
    },
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    net::{SocketAddr, TcpListener},
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};
use tokio::{runtime, sync::oneshot};

pub(crate) const CLIENT: &str = "hipward";
pub(crate) const SECRET: &str = "a secret of the client";

/// Changes the claims of the next ID token.
type Change = Box<dyn Fn(&mut Value) + Send>;

enum Key {
    Ec(Box<EcdsaKeyPair>),
    Rsa(Box<RsaKeyPair>),
}

impl Key {
    fn new_ec() -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random);
        let key = key.expect("a key");
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random);
        Key::Ec(Box::new(pair.expect("a key")))
    }

    fn new_rsa() -> Self {
        let made = Command::new("openssl")
            .args(["genpkey", "-algorithm", "RSA", "-outform", "DER", "-quiet"])
            .output()
            .expect("openssl runs");
        let pair =
            RsaKeyPair::from_pkcs8(&made.stdout).or_else(|_| RsaKeyPair::from_der(&made.stdout));
        Key::Rsa(Box::new(pair.expect("a key")))
    }

    fn public(&self, id: &str) -> Value {
        let text = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        match self {
            Key::Ec(key) => {
                let (x, y) = key.public_key().as_ref()[1..].split_at(32);
                json!({"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": id, "x": text(x), "y": text(y)})
            }
            Key::Rsa(key) => {
                let public: RsaPublicKeyComponents<Vec<u8>> = key.public().into();
                let [n, e] = [text(&public.n), text(&public.e)];
                json!({"kty": "RSA", "use": "sig", "kid": id, "n": n, "e": e})
            }
        }
    }

    fn sign(&self, id: &str, claims: &Value) -> String {
        let algorithm = match self {
            Key::Ec(_) => "ES256",
            Key::Rsa(_) => "RS256",
        };
        let header = json!({"alg": algorithm, "typ": "JWT", "kid": id});
        let [header, claims] =
            [&header, claims].map(|part| BASE64URL_NOPAD.encode(part.to_string().as_bytes()));
        let message = format!("{header}.{claims}");
        let random = SystemRandom::new();
        let signature = match self {
            Key::Ec(key) => {
                let signed = key.sign(&random, message.as_bytes());
                signed.expect("signs").as_ref().to_vec()
            }
            Key::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(
                    &RSA_PKCS1_SHA256,
                    &random,
                    message.as_bytes(),
                    &mut signature,
                )
                .expect("signs");
                signature
            }
        };
        format!("{message}.{}", BASE64URL_NOPAD.encode(&signature))
    }
}

struct Inner {
    issuer: String,
    key: Key,
    key_id: String,
    /// The keys that it publishes.
    published: Vec<Value>,
    /// The claims of every user.
    user: Value,
    change: Change,
    /// The answer of the user info, which then has the user's claims instead of the ID token.
    user_info: Option<Value>,
    /// The parameters of the requests for codes, by code.
    codes: HashMap<String, HashMap<String, String>>,
    /// Number of requests for the keys.
    key_requests: usize,
}

/// A provider on a local port. It stops when it is dropped.
pub(crate) struct Provider {
    inner: Arc<Mutex<Inner>>,
    pub(crate) issuer: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Provider {
    /// Starts one on a free port.
    pub(crate) fn start() -> Self {
        Provider::start_at("127.0.0.1:0".parse().expect("an address"))
    }

    pub(crate) fn start_at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        listener.set_nonblocking(true).expect("is ours");
        let issuer = format!("http://{}", listener.local_addr().expect("bound"));
        let key = Key::new_ec();
        let inner = Arc::new(Mutex::new(Inner {
            issuer: issuer.clone(),
            published: vec![key.public("first")],
            key,
            key_id: "first".to_owned(),
            user: json!({"sub": "248289761001", "email": "ann@example.org", "email_verified": true, "groups": ["gpu"]}),
            change: Box::new(|_| ()),
            user_info: None,
            codes: HashMap::new(),
            key_requests: 0,
        }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/keys", get(keys))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/user", get(user_info))
            .with_state(inner.clone());
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).expect("is open");
                let serve = axum::serve(listener, router).into_future();
                tokio::select! {
                    _ = serve => (),
                    _ = stopped => (),
                }
            });
        });
        Provider {
            inner,
            issuer,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn set_user(&self, user: Value) {
        self.inner().user = user;
    }

    /// Changes the claims of the next ID tokens.
    pub(crate) fn change(&self, change: impl Fn(&mut Value) + Send + 'static) {
        self.inner().change = Box::new(change);
    }

    /// Leaves the user's claims out of ID tokens, except `sub`. The user info has these instead.
    pub(crate) fn set_user_info(&self, claims: Value) {
        self.inner().user_info = Some(claims);
    }

    /// Signs with a new key from now on.
    pub(crate) fn rotate(&self, is_rsa: bool, is_published: bool) {
        let mut inner = self.inner();
        inner.key = if is_rsa {
            Key::new_rsa()
        } else {
            Key::new_ec()
        };
        inner.key_id = format!("key-{}-{is_rsa}-{is_published}", inner.published.len());
        if is_published {
            let public = inner.key.public(&inner.key_id);
            inner.published.push(public);
        }
    }

    /// A token with these claims besides issuer, time and the user's.
    pub(crate) fn token(&self, claims: &Value) -> String {
        self.inner().token(claims)
    }

    pub(crate) fn key_requests(&self) -> usize {
        self.inner().key_requests
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().expect("no thread has panicked")
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // Fails if it has ended.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Inner {
    fn token(&self, claims: &Value) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("after 1970").as_secs();
        let mut all = json!({"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300});
        for part in [&self.user, claims] {
            for (name, value) in part.as_object().expect("claims") {
                all[name] = value.clone();
            }
        }
        (self.change)(&mut all);
        self.key.sign(&self.key_id, &all)
    }
}

type Shared = State<Arc<Mutex<Inner>>>;
type Parameters = HashMap<String, String>;

async fn discovery(State(inner): Shared) -> Json<Value> {
    let inner = inner.lock().expect("works");
    let issuer = &inner.issuer;
    let mut metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize?tenant=1"),
        "token_endpoint": format!("{issuer}/token"),
        "jwks_uri": format!("{issuer}/keys"),
    });
    if inner.user_info.is_some() {
        metadata["userinfo_endpoint"] = json!(format!("{issuer}/user"));
    }
    Json(metadata)
}

async fn user_info(State(inner): Shared, headers: HeaderMap) -> Response {
    let inner = inner.lock().expect("works");
    match headers["authorization"] == "Bearer opaque" {
        true => Json(&inner.user_info).into_response(),
        false => StatusCode::UNAUTHORIZED.into_response(),
    }
}

async fn keys(State(inner): Shared) -> Json<Value> {
    let mut inner = inner.lock().expect("works");
    inner.key_requests += 1;
    Json(json!({ "keys": inner.published }))
}

/// Signs the user in at once, and sends the browser back.
async fn authorize(State(inner): Shared, Query(parameters): Query<Parameters>) -> Response {
    let mut inner = inner.lock().expect("works");
    let code = format!("code {}", inner.codes.len());
    let mut back = url::Url::parse(&parameters["redirect_uri"]).expect("an address");
    back.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &parameters["state"]);
    inner.codes.insert(code, parameters);
    Redirect::to(back.as_str()).into_response()
}

async fn token(State(inner): Shared, headers: HeaderMap, body: String) -> Response {
    let form: Parameters = url::form_urlencoded::parse(body.as_bytes())
        .into_owned()
        .collect();
    let mut inner = inner.lock().expect("works");
    let refused = |reason: &str| {
        let body = json!({"error": "invalid_grant", "error_description": reason});
        (StatusCode::BAD_REQUEST, Json(body)).into_response()
    };
    let secret = SECRET.replace(' ', "+");
    let pair = BASE64.encode(format!("{CLIENT}:{secret}").as_bytes());
    if headers["authorization"] != format!("Basic {pair}") {
        return refused("the client's secret is wrong");
    }
    // A code counts once.
    let Some(asked) = inner.codes.remove(&form["code"]) else {
        return refused("the code is unknown");
    };
    let challenge = BASE64URL_NOPAD.encode(&Sha256::digest(form["code_verifier"].as_bytes()));
    let is_right = asked["code_challenge_method"] == "S256"
        && asked["code_challenge"] == challenge
        && asked["redirect_uri"] == form["redirect_uri"]
        && asked["response_type"] == "code"
        && form["grant_type"] == "authorization_code";
    if !is_right {
        return refused("the request is not the one that began");
    }
    if inner.user_info.is_some() {
        inner.user = json!({"sub": inner.user["sub"]});
    }
    let token = inner.token(&json!({"nonce": asked["nonce"]}));
    Json(json!({"access_token": "opaque", "token_type": "Bearer", "id_token": token}))
        .into_response()
}
