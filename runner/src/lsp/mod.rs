//! The language server: diagnostics, quick fixes and rule pages for an editor's documents.
//!
//! One thread with one loop. A document is checked when the editor pauses, so that fast typing is checked once.

mod capabilities;
mod document;
mod frames;
mod responses;
mod text;
mod uri;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use gen_lsp_types::{
    CodeActionParams, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, HoverParams, MessageType,
    PublishDiagnosticsParams, ShowMessageParams, TextDocumentContentChangeEvent, Uri,
};
use hipward_analyzer::{Options, Report};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::config::{Baselines, Overrides, Projects, is_configuration};
use capabilities::{Client, initialize_result};
use document::Document;
use responses::OpenReport;

/// Errors that end the server: the editor disconnected or violated the protocol.
type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Changes that follow each other faster are checked together. The delay is not noticeable, and one write of
/// an editor arrives within it.
const DEBOUNCE: Duration = Duration::from_millis(20);

/// Settings of the server.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) overrides: Overrides,
    /// The site whose rule pages diagnostics link to; ends with a slash.
    pub(crate) site: String,
}

/// Serves an editor on standard input and output until it requests the end.
pub(crate) fn serve(settings: Settings) -> Result<()> {
    let (connection, threads) = frames::connect();
    let (id, params) = connection.initialize_start()?;
    let client = Client::new(&params);
    let result = serde_json::to_value(initialize_result(client.encoding))?;
    connection.initialize_finish(id, result)?;
    let site = params
        .pointer("/initializationOptions/site")
        .and_then(Value::as_str)
        .map(|site| format!("{}/", site.trim_end_matches('/')));
    let mut server = Server {
        connection,
        client,
        projects: Projects::new(settings.overrides),
        baselines: Baselines::default(),
        site: site.unwrap_or(settings.site),
        documents: HashMap::new(),
        unchecked: BTreeSet::new(),
        shown_errors: HashSet::new(),
    };
    server.watch_configuration()?;
    server.run()?;
    // The writing thread ends when the last sender is dropped.
    drop(server);
    threads.join()?;
    Ok(())
}

struct Server {
    connection: Connection,
    client: Client,
    projects: Projects,
    baselines: Baselines,
    site: String,
    /// By URI.
    documents: HashMap<String, Document>,
    /// Documents that changed since their diagnostics were published.
    unchecked: BTreeSet<String>,
    /// Errors that were shown. Each is shown once, not at every change.
    shown_errors: HashSet<String>,
}

impl Server {
    fn run(&mut self) -> Result<()> {
        loop {
            let message = if self.unchecked.is_empty() {
                match self.connection.receiver.recv() {
                    Ok(message) => message,
                    Err(_) => return Ok(()),
                }
            } else {
                match self.connection.receiver.recv_timeout(DEBOUNCE) {
                    Ok(message) => message,
                    Err(error) if error.is_timeout() => {
                        self.publish()?;
                        continue;
                    }
                    Err(_) => return Ok(()),
                }
            };
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    self.handle_request(request)?;
                }
                Message::Notification(notification) => self.handle_notification(notification)?,
                // The response to the registration. Without the registration, changes are noticed at the next save.
                Message::Response(_) => {}
            }
        }
    }

    fn handle_notification(&mut self, notification: Notification) -> Result<()> {
        let Notification { method, params } = notification;
        match method.as_str() {
            "textDocument/didOpen" => {
                let Some(params) = read::<DidOpenTextDocumentParams>(&method, params) else {
                    return Ok(());
                };
                let item = params.text_document;
                let language = item.language_id.to_string();
                let document = Document::new(&item.uri.0, &language, item.version, item.text);
                self.documents.insert(item.uri.0.clone(), document);
                self.unchecked.insert(item.uri.0);
            }
            "textDocument/didChange" => {
                let Some(change) = read::<DidChangeTextDocumentParams>(&method, params) else {
                    return Ok(());
                };
                let uri = change.text_document.text_document_identifier.uri.0;
                if let Some(document) = self.documents.get_mut(&uri) {
                    for change in change.content_changes {
                        match change {
                            TextDocumentContentChangeEvent::TextDocumentContentChangePartial(
                                part,
                            ) => document.replace(part.range, &part.text, self.client.encoding),
                            TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(
                                whole,
                            ) => document.set_text(whole.text),
                        }
                    }
                    document.version = change.text_document.version;
                    self.unchecked.insert(uri);
                }
            }
            "textDocument/didClose" => {
                let Some(params) = read::<DidCloseTextDocumentParams>(&method, params) else {
                    return Ok(());
                };
                let uri = params.text_document.uri;
                self.documents.remove(&uri.0);
                self.unchecked.remove(&uri.0);
                self.notify(
                    "textDocument/publishDiagnostics",
                    PublishDiagnosticsParams {
                        uri,
                        version: None,
                        diagnostics: Vec::new(),
                    },
                )?;
            }
            "textDocument/didSave" => {
                let saved = read::<DidSaveTextDocumentParams>(&method, params);
                let path = saved.and_then(|saved| uri::path(&saved.text_document.uri.0));
                if path.is_some_and(|path| is_configuration(&path)) {
                    self.reload();
                }
            }
            "workspace/didChangeWatchedFiles" => self.reload(),
            _ => {}
        }
        Ok(())
    }

    fn handle_request(&mut self, request: Request) -> Result<()> {
        let Request { id, method, params } = request;
        match method.as_str() {
            "textDocument/hover" => {
                let Some(params) = self.parse_or_respond::<HoverParams>(&id, params)? else {
                    return Ok(());
                };
                let place = params.text_document_position_params;
                let open = self.open_report(&place.text_document.uri)?;
                let hover = open.and_then(|open| open.hover(place.position));
                self.respond(id, hover)
            }
            "textDocument/codeAction" => {
                let Some(params) = self.parse_or_respond::<CodeActionParams>(&id, params)? else {
                    return Ok(());
                };
                let versioned = self.client.versioned_edits;
                let open = self.open_report(&params.text_document.uri)?;
                let only = params.context.only;
                let actions =
                    open.map(|open| open.actions(params.range, only.as_deref(), versioned));
                self.respond(id, actions.unwrap_or_default())
            }
            _ => self.respond_error(
                id,
                ErrorCode::MethodNotFound,
                format!("{method} is not answered"),
            ),
        }
    }

    /// A document with its report.
    fn open_report<'s>(&'s mut self, uri: &'s Uri) -> Result<Option<OpenReport<'s>>> {
        self.check(&uri.0)?;
        let Server {
            documents,
            client,
            site,
            ..
        } = self;
        let document = documents.get(&uri.0);
        Ok(document.and_then(|document| {
            let (report, options) = document.checked()?;
            Some(OpenReport {
                uri,
                document,
                report,
                options,
                encoding: client.encoding,
                site,
            })
        }))
    }

    /// Checks a document, unless it has a report of its current text.
    fn check(&mut self, uri: &str) -> Result<()> {
        let Some(document) = self.documents.get_mut(uri) else {
            return Ok(());
        };
        if !document.is_unchecked() {
            return Ok(());
        }
        let (checked, error) = report(&self.projects, &self.baselines, document);
        document.set_report(checked);
        match error {
            Some(error) if self.shown_errors.insert(error.clone()) => self.notify(
                "window/showMessage",
                ShowMessageParams {
                    kind: MessageType::Error,
                    message: format!("Hipward: {error}"),
                },
            ),
            _ => Ok(()),
        }
    }

    /// Checks changed documents and sends their diagnostics.
    fn publish(&mut self) -> Result<()> {
        for uri in std::mem::take(&mut self.unchecked) {
            let uri = Uri::from(uri);
            let diagnostics = self.open_report(&uri)?.map(|open| open.diagnostics());
            let version = self.documents.get(&uri.0).map(|document| document.version);
            self.notify(
                "textDocument/publishDiagnostics",
                PublishDiagnosticsParams {
                    uri,
                    version,
                    diagnostics: diagnostics.unwrap_or_default(),
                },
            )?;
        }
        Ok(())
    }

    /// Checks everything again, because a configuration file may have changed.
    fn reload(&mut self) {
        self.projects.reload();
        self.baselines = Baselines::default();
        self.shown_errors.clear();
        for (uri, document) in &mut self.documents {
            document.clear_report();
            self.unchecked.insert(uri.clone());
        }
    }

    fn watch_configuration(&self) -> Result<()> {
        if !self.client.watches_files {
            return Ok(());
        }
        let watchers: Vec<_> = ["**/*.toml", "**/setup.py"]
            .iter()
            .map(|pattern| json!({ "globPattern": pattern }))
            .collect();
        let registration = json!({
            "id": "hipward-configuration",
            "method": "workspace/didChangeWatchedFiles",
            "registerOptions": { "watchers": watchers },
        });
        let request = Request::new(
            "hipward-configuration".to_owned().into(),
            "client/registerCapability".to_owned(),
            json!({ "registrations": [registration] }),
        );
        Ok(self.connection.sender.send(request.into())?)
    }

    fn notify(&self, method: &str, params: impl Serialize) -> Result<()> {
        let notification = Notification::new(method.to_owned(), params);
        Ok(self.connection.sender.send(notification.into())?)
    }

    fn respond(&self, id: RequestId, result: impl Serialize) -> Result<()> {
        Ok(self
            .connection
            .sender
            .send(Response::new_ok(id, result).into())?)
    }

    fn respond_error(&self, id: RequestId, code: ErrorCode, message: String) -> Result<()> {
        let response = Response::new_err(id, code as i32, message);
        Ok(self.connection.sender.send(response.into())?)
    }

    /// Parses the parameters of a request, or responds with an error.
    fn parse_or_respond<T: DeserializeOwned>(
        &self,
        id: &RequestId,
        params: Value,
    ) -> Result<Option<T>> {
        match serde_json::from_value(params) {
            Ok(params) => Ok(Some(params)),
            Err(error) => {
                self.respond_error(id.clone(), ErrorCode::InvalidParams, error.to_string())?;
                Ok(None)
            }
        }
    }
}

/// The report of a document in a supported language, and an error of its configuration.
fn report(
    projects: &Projects,
    baselines: &Baselines,
    document: &mut Document,
) -> (Option<(Report, Options)>, Option<String>) {
    let Some(language) = document.language else {
        return (None, None);
    };
    let path = document.path.clone();
    let path = path.as_deref().unwrap_or(Path::new("untitled"));
    let project = match projects.of_file(path) {
        Ok(project) => project,
        Err(error) => return (None, Some(error.to_string())),
    };
    let options = project.options(path, Some(language));
    if project.excludes(path, false) {
        return (None, None);
    }
    let mut report = document.analyze(&options);
    let mut baseline_error = None;
    if let Some(baseline) = &project.baseline {
        match baselines.load(baseline) {
            Ok(baseline) => drop(baseline.forget(path, &document.text, &mut report)),
            Err(error) => baseline_error = Some(error),
        }
    }
    (Some((report, options)), baseline_error)
}

/// Parses the parameters of a notification. Invalid ones are logged and ignored, because a notification has no response.
fn read<T: DeserializeOwned>(method: &str, params: Value) -> Option<T> {
    serde_json::from_value(params)
        .inspect_err(|error| eprintln!("hipward lsp: {method}: {error}"))
        .ok()
}
