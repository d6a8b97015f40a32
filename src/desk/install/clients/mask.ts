import { hidden, isSecretName, withoutCredentials } from '#relay/protocol/text/secrets.js'
import type { Document, Member, Splice, TextValue, Value } from './tree.js'
import { splice } from './tree.js'

/** A server's entry with masked secrets: all values of `env` and headers, and secrets elsewhere. */
export const maskedEntry = (document: Document, entry: Member): string => {
  const splices = new Map(secretsOf(document, entry, false).map(one => [one.from, one]))
  const masked = entry.places.map(({ from, to }) => {
    const inside = [...splices.values()].filter(one => one.from >= from && one.to <= to)
    return splice(
      document.text.slice(from, to),
      inside.map(one => ({ ...one, from: one.from - from, to: one.to - from })),
    )
  })
  return masked.map(text => text.trimEnd()).join('\n')
}

/** Keys of tables whose values are all masked. */
const secretTables = /^(?:env|headers|http_headers|env_http_headers)$/

/** Keys whose values are names of variables. */
const variableNames = /_env_vars?$|^env_vars$/

const secretsOf = (document: Document, { key, value }: Member, secret: boolean): readonly Splice[] => {
  if (variableNames.test(key)) return []
  const all = secret || secretTables.test(key)
  switch (value.kind) {
    case 'table':
      return value.members.flatMap(member => secretsOf(document, member, all || isSecretName(key)))
    case 'text':
      return textSecrets(document, value, all || isSecretName(key))
    case 'list':
      return listSecrets(document, value.elements, all || isSecretName(key))
    case 'other':
      return []
  }
}

/** Masks also the word after an option such as `--token`. */
const listSecrets = (document: Document, elements: readonly Value[], secret: boolean): readonly Splice[] =>
  elements.flatMap((element, index) => {
    const before = elements[index - 1]
    const named = before?.kind === 'text' && before.text.startsWith('-') && !before.text.includes('=')
      && isSecretName(before.text)
    if (element.kind === 'text') return textSecrets(document, element, secret || named)
    return element.kind === 'list' ? listSecrets(document, element.elements, secret) : []
  })

const textSecrets = (
  { spellText }: Document, { text, from, to }: TextValue, secret: boolean,
): readonly Splice[] => {
  const shown = isReference(text) ? text : secret ? hidden : maskedText(text)
  return shown === text ? [] : [{ from, to, text: spellText(shown) }]
}

/** True for a reference that the client or `wrap` replaces with a value, such as `${TOKEN}`. */
const isReference = (text: string): boolean => /^(?:[\w-]+=)?(?:Bearer )?\$?\{[^{}]*\}$|^$/.test(text)

const maskedText = (text: string): string =>
  (/^https?:\/\//i.test(text) ? maskedUrl(text) : withoutCredentials(text))

/** Masks user and password, all values of the query, and long parts of the path with digits in them. */
const maskedUrl = (url: string): string => {
  const [address = '', ...query] = url.split('?')
  const path = address.replace(/(:\/\/)[^/@]*@/, `$1${hidden}@`)
    .replace(/(?<=\/)(?=[^/]*\d)[\w.~%=-]{20,}(?=\/|$)/g, hidden)
  return withoutCredentials([path, ...query.map(pairs => pairs.replace(/=[^&#]*/g, `=${hidden}`))].join('?'))
}

export const holdsSecret = (url: string): boolean => maskedUrl(url) !== url
