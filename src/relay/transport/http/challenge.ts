import { only } from './headers.js'
import type { HttpHeaders } from '../transport.js'

/** One challenge of a `WWW-Authenticate` header (RFC 9110, section 11.6.1). */
export interface Challenge {
  /** In lower case. */
  readonly scheme: string
  /** By their names in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

/** The challenges of a response, in order. What cannot be read is left out. */
export const challengesOf = (headers: HttpHeaders): readonly Challenge[] => readChallenges(
  headers.get('www-authenticate')?.join(', ') ?? '')

const token = /[!#$%&'*+.^_`|~\w-]+/y
const parameter = new RegExp(
  `(${token.source})[ \\t]*=[ \\t]*(?:"((?:[^"\\\\]|\\\\.)*)"|(${token.source}))[ \\t]*(?=,|$)`, 'y',
)
const token68 = /[ \t]+[\w.~+/-]+=*[ \t]*(?=,|$)/y
const between = /[ \t,]*/y

export const readChallenges = (text: string): readonly Challenge[] => {
  const challenges: { scheme: string; parameters: Map<string, string> }[] = []
  let at = 0
  const read = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    const found = pattern.exec(text) ?? undefined
    if (found !== undefined) at = pattern.lastIndex
    return found
  }
  for (;;) {
    read(between)
    const [, name, quoted, plain] = read(parameter) ?? []
    if (name !== undefined) {
      const value = quoted?.replace(/\\(.)/g, '$1') ?? plain ?? ''
      // A parameter that comes twice could be read in two ways: the first one counts.
      const known = challenges.at(-1)?.parameters
      if (known?.has(name.toLowerCase()) === false) known.set(name.toLowerCase(), value)
      continue
    }
    const [scheme] = read(token) ?? []
    if (scheme === undefined) return challenges
    challenges.push({ scheme: scheme.toLowerCase(), parameters: new Map() })
    // A token68 in place of parameters is skipped (RFC 9110, section 11.2).
    read(token68)
  }
}

/** What a server says of the token that it wants (RFC 6750, section 3; RFC 9728, section 5.1). */
export interface WantedAccess {
  readonly resourceMetadata: string | undefined
  /** Undefined where the challenge names none. */
  readonly scopes: readonly string[] | undefined
  readonly error: string | undefined
  /** The schemes of the Bearer and DPoP challenges. */
  readonly schemes: readonly string[]
}

/** @returns what the challenges say together; nothing is in it when there are none */
export const wantedBy = (headers: HttpHeaders): WantedAccess => {
  const challenges = challengesOf(headers).filter(({ scheme }) => scheme === 'bearer' || scheme === 'dpop')
  const first = (name: string): string | undefined =>
    challenges.find(({ parameters }) => parameters.has(name))?.parameters.get(name)
  return {
    resourceMetadata: first('resource_metadata'),
    scopes: scopesIn(first('scope')),
    error: first('error'),
    schemes: challenges.map(({ scheme }) => scheme),
  }
}

/** The nonce for the next proof (RFC 9449, section 9). */
export const nonceOf = (headers: HttpHeaders): string | undefined => only(headers, 'dpop-nonce')

/** Longest list of scopes that is read: one that a server writes is sent to its issuer. */
const maxScopes = 200

/** The scopes in a `scope` parameter (RFC 6749, section 3.3). */
export const scopesIn = (text: string | undefined): readonly string[] | undefined =>
  text?.split(' ').filter(word => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(word)).slice(0, maxScopes)
