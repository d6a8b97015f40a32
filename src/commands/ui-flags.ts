import { CustomsError } from '../errors.js'
import { quote } from '../protocol/quote.js'
import { readTime } from '../report/filter.js'
import { text, type Flags, type Given } from './flag.js'

export const uiFlags: Flags = {
  port: { type: 'string', value: 'PORT', describe: 'where to listen, on loopback (default: one that is free)' },
  window: { type: 'string', value: 'TIME', describe: 'how far back the page goes: 1h, 24h, 7d (default: 24h)' },
}

export interface UiFlags {
  /** 0 picks one. */
  readonly port: number
  readonly windowMs: number
}

/** @throws CustomsError BAD_USAGE */
export const readUiFlags = (given: Given): UiFlags => {
  const [port = '0', window = '24h'] = [text(given, 'port'), text(given, 'window')]
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new CustomsError('BAD_USAGE', `--port ${quote(port)}: must be a number up to 65535`)
  const windowMs = -(/^\d+[smhdw]$/.test(window) ? (readTime(window, 0) ?? 0) : 0)
  if (windowMs < 60_000) throw new CustomsError('BAD_USAGE', `--window ${quote(window)}: must be a time of a minute or more, such as 1h, 24h or 7d`)
  return { port: Number(port), windowMs }
}
