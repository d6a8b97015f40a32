import { styleText } from 'node:util'

/** How the words of a report look. */
export interface Style {
  readonly title: (text: string) => string
  readonly dim: (text: string) => string
  readonly good: (text: string) => string
  readonly bad: (text: string) => string
  readonly warn: (text: string) => string
}

const same = (text: string): string => text

export const plainStyle: Style = { title: same, dim: same, good: same, bad: same, warn: same }

const coloured = (format: Parameters<typeof styleText>[0]) => (text: string) => styleText(format, text, { validateStream: false })

export const colourStyle: Style = {
  title: coloured('bold'),
  dim: coloured('dim'),
  good: coloured('green'),
  bad: coloured('red'),
  warn: coloured('yellow'),
}

export interface Terminal {
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

/** In characters. What is read from a file is as wide as it can be read. */
export const widthOf = (stream: Terminal): number => {
  const columns = stream.isTTY === true ? (stream.columns ?? 0) : 0
  return columns > 0 ? Math.max(columns, 40) : 100
}
