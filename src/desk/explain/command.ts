import { orList, suggestion } from '#relay/config/check.js'
import { badUsage } from '#relay/base/errors.js'
import { actionsOf, type RuleFault, inText, presetPolicy, presets, type Row, rules } from '#relay/rules/index.js'
import { print } from '#desk/terminal/output.js'
import { indent, type Style, styleFor, widthOf, wrapText } from '#desk/terminal/style.js'
import { type CodeText, codeTexts } from './codes.js'
import { type Example, examples } from './examples.js'

/** How a text is laid out. */
export interface Layout {
  readonly style: Style
  readonly width: number
}

const codes = new Map([...codeTexts].map(([code, text]) => [String(code), text]))

/** What `explain` knows: rules and error codes. */
export const topics = (): readonly string[] => [...rules.map(({ name }) => name), ...codes.keys()]

/**
 * `explain [RULE|CODE|FAMILY]`: prints what it means, whose fault it is, what to do, and an example.
 * @throws CustomsError BAD_USAGE for a word that is none of these
 */
export const explainCommand = async (word: string | undefined): Promise<number> => {
  await print(explanation(word, {
    style: styleFor(process.stdout, process.env), width: Math.min(widthOf(process.stdout), 100),
  }))
  return 0
}

/** @throws CustomsError BAD_USAGE */
export const explanation = (word: string | undefined, layout: Layout): string => {
  const asked = word?.trim().toLowerCase().replace(/\/$/, '') ?? ''
  const rule = rules.find(({ name }) => name === asked)
  if (rule !== undefined) return ruleText(rule, layout)
  // A shell or a person may leave the minus out.
  const code = /^-?\d+$/.test(asked) ? `-${asked.replace('-', '')}` : asked
  const text = codes.get(code)
  if (text !== undefined) return codeText(code, text, layout)
  const family = rules.filter(({ name }) => asked === '' || name.startsWith(`${asked}/`))
  if (family.length > 0) return listText(family, asked === '' ? [...codes] : [], layout)
  return unknown(word ?? '')
}

const unknown = (word: string): never => {
  const known = topics()
  const own = known.filter(name => name.split('/')[1] === word.toLowerCase())
  const halves = known.flatMap(name => name.split('/').slice(1))
  const meant = own.length > 0 ? `; did you mean ${orList(own)}?` : suggestion(word, [...known, ...halves])
  return badUsage(`explain: ${JSON.stringify(word)} is no rule and no error code${meant} ` +
    '(mcp-customs explain lists them)')
}

const faults: Readonly<Record<RuleFault, string>> = {
  server: 'the server\'s', client: 'the client\'s, or its model\'s',
  sender: 'that of the program that sent the message', configuration: 'nobody\'s: your configuration says so',
  nobody: 'nobody\'s, or not known',
}

/** What the rule finds, without links. */
const titleOf = ({ title }: Row): string => inText(title.replace(/\[([^[\]]*)\]\([^()]*\)/g, '$1'))

const ruleText = (row: Row, { style, width }: Layout): string => {
  const { name, means, fault, next, mends, refused } = row
  const byPolicy = presets.map(preset =>
    `${preset} ${presetPolicy(preset, { purpose: 'relay', locked: false }).get(name) ?? 'off'}`)
  const locked = presetPolicy('standard', { purpose: 'relay', locked: true }).get(name)
  const standard = presetPolicy('standard', { purpose: 'relay', locked: false }).get(name)
  const facts: (readonly [string, string])[] = [
    ['finds', titleOf(row)],
    ['fault', faults[fault]],
    ['policy', [
      byPolicy.join(', '), ...(locked === standard ? [] : [`with a lock ${locked}`]),
      ...(name.startsWith('advice/') ? ['inspect logs it'] : []),
    ].join('; ')],
    ['actions', actionsOf(name).join(', ')],
    ...(mends === undefined ? [] : [['mended', inText(mends)] as const]),
    ...(refused === undefined ? [] : [['not mended', `strict clients ${refused}`] as const]),
  ]
  return page(name, means, facts, next.map(inText), examples[name], { style, width })
}

const codeText = (
  code: string, { title, means, fault, next, example }: CodeText, layout: Layout,
): string =>
  page(`${code}: ${title}`, inText(means), [['fault', inText(fault)], ['for example', example]],
    next.map(inText), undefined, layout)

const page = (
  title: string, means: string, facts: readonly (readonly [string, string])[], next: readonly string[],
  example: Example | undefined, { style, width }: Layout,
): string => {
  const shown = example === undefined ? [] : [['wrong', example.wrong], ['right', example.right]] as const
  const label = Math.max(...[...facts, ...shown].map(([name]) => name.length)) + 2
  const lines = (pairs: readonly (readonly [string, string])[]) => pairs.map(([name, text]) =>
    `  ${style.dim(name.padEnd(label))}${indent(wrapText(text, width - label - 2), label + 2)}`)
  return [
    style.title(title), '', ...wrapText(means, width), '', ...lines(facts),
    '', style.title('What to do'), ...next.map(step => `  → ${indent(wrapText(`${step}.`, width - 4), 4)}`),
    ...(shown.length === 0 ? [] : ['', style.title('Example'), ...lines(shown)]), '',
  ].join('\n')
}

const listText = (
  family: readonly Row[], known: readonly (readonly [string, CodeText])[], { style, width }: Layout,
): string => {
  const all: (readonly [string, string])[] = [
    ...family.map(row => [row.name, titleOf(row)] as const),
    ...known.map(([code, { title }]) => [code, title] as const),
  ]
  const label = Math.max(...all.map(([name]) => name.length)) + 2
  return [
    ...all.map(([name, text]) =>
      `${style.title(name.padEnd(label))}${indent(wrapText(text, width - label), label)}`),
    '', 'mcp-customs explain NAME says more of one.', '',
  ].join('\n')
}
