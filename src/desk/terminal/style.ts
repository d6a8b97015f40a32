import { stripVTControlCharacters, styleText } from 'node:util'

/** The styles of a report. */
export interface Style {
  readonly title: (text: string) => string
  readonly dim: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly warn: (text: string) => string
}

const same = (text: string): string => text

export const plainStyle: Style = { title: same, dim: same, good: same, bad: same, warn: same }

const coloured = (format: Parameters<typeof styleText>[0]) =>
  (text: string) => styleText(format, text, { validateStream: false })

export const colourStyle: Style = {
  title: coloured('bold'),
  dim: coloured('dim'),
  good: coloured('green'),
  bad: coloured('red'),
  warn: coloured('yellow'),
}

interface Terminal {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** Colours on a terminal only, unless the environment says otherwise (no-color.org, force-color.org). */
export const styleFor = (stream: Terminal, environment: NodeJS.ProcessEnv): Style => {
  const { FORCE_COLOR: force = '', NO_COLOR: no = '', TERM: terminal } = environment
  if (force !== '') return force === '0' || force === 'false' ? plainStyle : colourStyle
  if (no !== '' || terminal === 'dumb') return plainStyle
  return stream.isTTY === true ? colourStyle : plainStyle
}

/** Width in characters; 100 when the output is not a terminal. */
export const widthOf = (stream: Terminal): number => {
  const columns = stream.isTTY === true ? (stream.columns ?? 0) : 0
  return columns > 0 ? Math.max(columns, 40) : 100
}

// Approximate widths: marks take no column, these take two.
const wide = /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{Emoji_Presentation}\uff01-\uff60]/u
const columnWidth = (character: string): number =>
  (/\p{M}/u.test(character) ? 0 : wide.test(character) ? 2 : 1)

/** The columns that a line takes in a terminal, without styles. */
export const columnsOf = (line: string): number => {
  let columns = 0
  for (const character of stripVTControlCharacters(line)) columns += columnWidth(character)
  return columns
}

/** Wraps a text at spaces, or within words wider than a line. */
export const wrapText = (text: string, width: number): readonly string[] =>
  packed(text.split(' ').flatMap(word => pieces(word, width)), width)

/** Wraps phrases: between them, and within one only when it is wider than a line. */
export const fill = (phrases: readonly string[], width: number): readonly string[] =>
  packed(phrases.flatMap(phrase => wrapText(phrase, width)), width)

const packed = (words: readonly string[], width: number): readonly string[] => {
  const lines: string[] = []
  let line = ''
  for (const word of words) {
    if (line !== '' && columnsOf(line) + 1 + columnsOf(word) > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

const pieces = (word: string, width: number): readonly string[] => {
  const all: string[] = []
  let piece = ''
  for (const character of word) {
    if (piece !== '' && columnsOf(piece) + columnWidth(character) > width) {
      all.push(piece)
      piece = ''
    }
    piece += character
  }
  return [...all, piece]
}

/** Joins lines, and indents all but the first. */
export const indent = (lines: readonly string[], by: number): string => lines.join(`\n${' '.repeat(by)}`)

export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

/** A progress display on a terminal; nothing elsewhere. */
interface Spinner {
  say(text: string): void
  stop(): void
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const everyMs = 80
const eraseLine = '\r\u001b[K'

/**
 * The cursor stays visible: if we were killed, a hidden one would stay hidden.
 * @param text must fit for a terminal
 */
export const spinner = (stream: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): Spinner => {
  if (!stream.isTTY || environment['TERM'] === 'dumb') return { say: () => {}, stop: () => {} }
  let doing = ''
  let turn = 0
  const draw = () => stream.write(`${eraseLine}${frames[turn++ % frames.length] ?? ''} ${doing}`)
  const timer = setInterval(draw, everyMs).unref()
  return {
    say(text) {
      doing = text
      draw()
    },
    stop() {
      clearInterval(timer)
      stream.write(eraseLine)
    },
  }
}
