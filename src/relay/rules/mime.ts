import { Buffer } from 'node:buffer'
import { readMediaType } from '#relay/protocol/headers.js'

interface Kind {
  readonly name: string
  readonly signature: RegExp
  /** The media types that data with this signature may have. */
  readonly types: RegExp
  /** The media types that only data with this signature may have. */
  readonly only?: RegExp
}

// Short signatures, such as the two letters of BMP, prove nothing and are left out. Libraries know hundreds
// of kinds, but take any text that begins with "BM" for a bitmap.
const kinds: readonly Kind[] = [
  {
    name: 'PNG',
    signature: /^\x89PNG\r\n\x1a\n/,
    types: /^image\/(?:x-)?(?:a?png|vnd\.mozilla\.apng)$/,
    only: /^image\/a?png$/,
  },
  { name: 'JPEG', signature: /^\xff\xd8\xff/, types: /^image\/p?jpe?g$/, only: /^image\/jpe?g$/ },
  { name: 'GIF', signature: /^GIF8[79]a/, types: /^image\/gif$/, only: /^image\/gif$/ },
  { name: 'WebP', signature: /^RIFF[^]{4}WEBP/, types: /^image\/webp$/, only: /^image\/webp$/ },
  {
    name: 'PDF', signature: /^%PDF-/,
    types: /^application\/(?:[a-z.-]*\+|x-)?(?:pdf|postscript|illustrator)$/,
  },
  {
    name: 'WAV',
    signature: /^(?:RIFF|RF64)[^]{4}WAVE/,
    types: /^audio\/(?:x-|vnd\.)?(?:wave?|pn-wav)$/,
    only: /^audio\/(?:x-)?wave?$/,
  },
  {
    name: 'Ogg',
    signature: /^OggS/,
    types: /^(?:audio|video|application)\/(?:x-)?(?:ogg|opus|vorbis|speex|theora|kate)/,
    only: /^audio\/ogg$/,
  },
  { name: 'FLAC', signature: /^fLaC/, types: /^audio\/(?:x-)?flac$/ },
  { name: 'MP3', signature: /^ID3[\x02-\x04]/, types: /^audio\// },
  { name: 'MP4', signature: /^[^]{4}ftyp/, types: /^(?:audio|video|image|application)\// },
  { name: 'Matroska', signature: /^\x1aE\xdf\xa3/, types: /^(?:audio|video)\// },
  // Also documents, packages and books.
  { name: 'ZIP', signature: /^PK(?:\x03\x04|\x05\x06)/, types: /^(?:application|model)\/|\+zip$/ },
]

/**
 * How the first bytes of data contradict a media type; undefined when they do not.
 * @param base64 of the first bytes
 */
export const contradicted = (mimeType: string, base64: string): string | undefined => {
  const { type: essence } = readMediaType(mimeType)
  const bytes = Buffer.from(base64, 'base64').toString('latin1')
  if (bytes === '' || essence === 'application/octet-stream' || essence.startsWith('multipart/')) {
    return undefined
  }
  const seen = kinds.find(({ signature }) => signature.test(bytes))
  if (seen !== undefined) return seen.types.test(essence) ? undefined : `begins as ${seen.name} does`
  const claimed = kinds.find(({ only }) => only?.test(essence))
  return claimed && `does not begin as ${claimed.name} does`
}
