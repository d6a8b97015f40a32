/**
 * What a person has to know first: the one order of the page, `audit report`, `audit show`, `tools` and the
 * lines on stderr. A changed definition that was accepted, and text that people do not see, are how a server
 * attacks a model; a careless server merely breaks its word.
 */
export const dangers = [
  /** A definition that was accepted, or listed first, says something else now. */
  'changed',
  'hidden',
  /** Results of a tool that worked before are held back. */
  'worsened',
  'down',
  /** Anything else that is held back. */
  'held',
  /** It passed, and somebody should know. */
  'passed',
  /** Nobody has to do anything. */
  'nothing',
] as const

export type Danger = (typeof dangers)[number]

export const byDanger = (a: Danger, b: Danger): number => dangers.indexOf(a) - dangers.indexOf(b)

/** Rules whose findings are mended for the client, or are advice to the author. */
const harmless = /^(?:tool\/(?:annotations|profile|dialect|icon)|advice\/)/

/** The danger of a finding, as far as its rule tells it. */
export const dangerOf = (
  { rule, mended }: { readonly rule: string; readonly mended?: string | undefined },
): Danger => {
  if (rule === 'tool/drift') return 'changed'
  if (rule.endsWith('/hidden-text')) return 'hidden'
  return mended !== undefined || harmless.test(rule) ? 'nothing' : 'held'
}

/** The findings, the most dangerous first. */
export const ranked = <Found extends Parameters<typeof dangerOf>[0]>(
  findings: readonly Found[],
): readonly Found[] =>
  (findings.length < 2 ? findings : findings.toSorted((a, b) => byDanger(dangerOf(a), dangerOf(b))))
