//! A rendered page with its entity tag and its compressed forms.

use super::content_coding::Coding;
use axum::body::Bytes;
use data_encoding::HEXLOWER;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use std::{
    io::{self, Write},
    sync::OnceLock,
};

/// Of 11. Higher qualities take tens of milliseconds for a long page.
const BROTLI_QUALITY: u32 = 9;

/// A page as it is sent. Each compressed form is made when it is first requested.
#[derive(Debug)]
pub(crate) struct RenderedPage {
    html: Bytes,
    tag: String,
    brotli: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

impl RenderedPage {
    pub(super) fn new(html: String) -> Self {
        RenderedPage {
            tag: weak_tag(html.as_bytes()),
            html: Bytes::from(html),
            brotli: OnceLock::new(),
            gzip: OnceLock::new(),
        }
    }

    /// The value of `ETag`.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// The body in a content coding, or as it is. None if this form is yet to be made by [`RenderedPage::compress`].
    pub(crate) fn body(&self, coding: Option<Coding>) -> Option<Bytes> {
        match coding {
            None => Some(self.html.clone()),
            Some(coding) => self.form(coding).get().cloned(),
        }
    }

    /// The body in a content coding, or as it is. Blocks for some milliseconds if it is compressed for the first time.
    pub(crate) fn compress(&self, coding: Option<Coding>) -> io::Result<Bytes> {
        let Some(coding) = coding else {
            return Ok(self.html.clone());
        };
        if let Some(known) = self.form(coding).get() {
            return Ok(known.clone());
        }
        let compressed = match coding {
            Coding::Brotli => brotli(&self.html)?,
            Coding::Gzip => gzip(&self.html)?,
        };
        Ok(self.form(coding).get_or_init(|| compressed.into()).clone())
    }

    fn form(&self, coding: Coding) -> &OnceLock<Bytes> {
        match coding {
            Coding::Brotli => &self.brotli,
            Coding::Gzip => &self.gzip,
        }
    }
}

/// A weak entity tag: the start of the body's SHA-256, in hexadecimal. Weak, because a response with the same tag may be sent
/// in several content codings.
pub(crate) fn weak_tag(body: &[u8]) -> String {
    format!("W/\"{}\"", HEXLOWER.encode(&Sha256::digest(body)[..16]))
}

fn brotli(html: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = brotli::CompressorWriter::new(Vec::new(), 1 << 16, BROTLI_QUALITY, 22);
    writer.write_all(html)?;
    Ok(writer.into_inner())
}

fn gzip(html: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::best());
    writer.write_all(html)?;
    writer.finish()
}
