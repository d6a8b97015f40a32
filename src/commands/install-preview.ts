import { diffLines } from 'diff'
import { isChange, type Change, type Plan, type Step } from '../clients/plan.js'
import { plain, plainLines } from '../inspect/plain.js'
import type { Style } from '../inspect/style.js'

/** What will happen to each server of a file: a line, and the exact change. */
export const describePlan = ({ steps }: Pick<Plan, 'steps'>, style: Style): string => {
  const names = steps.map(({ entry: { name, scope } }) => nameOf(name, scope))
  const width = Math.min(40, Math.max(0, ...names.map(({ length }) => length)))
  return steps.map((step, index) => describeStep((names[index] ?? '').padEnd(width), step, style)).join('')
}

/** @param scope the project that it belongs to */
export const nameOf = (name: string, scope: string | undefined): string => plain(name) + (scope === undefined ? '' : ` (${plain(scope, 200)})`)

const fates = {
  wrap: 'will run under mcp-customs',
  rewrap: 'will start mcp-customs in another way',
  unwrap: 'will run without mcp-customs',
} as const

const describeStep = (name: string, step: Step, style: Style): string => {
  if (!isChange(step)) {
    const reason = plain(step.reason, 300)
    return `  ${name}  ${step.kind === 'done' ? style.dim(reason) : style.warn(`left alone: ${reason}`)}\n`
  }
  const advice = step.advice.map(line => `    ${style.warn(line)}\n`).join('')
  return `  ${style.title(name)}  ${fates[step.kind]}\n${describeChange(step, style)}${advice}`
}

/** Longest line that is shown, in characters. */
const widest = 2000

const describeChange = ({ before, after }: Change, style: Style): string => {
  const indentation = Math.min(...[...before.split('\n').slice(1), ...after.split('\n').slice(1)].filter(line => line.trim() !== '').map(line => line.search(/\S/)))
  const show = (sign: string, text: string) =>
    plainLines(text.replace(/\r?\n$/, ''), 200, widest).map(line => `    ${sign} ${line.slice(Math.min(indentation, Math.max(0, line.search(/\S/))))}\n`).join('')
  return diffLines(before, after)
    .map(({ added, removed, value }) => (added ? style.good(show('+', value)) : removed ? style.bad(show('-', value)) : ''))
    .join('')
}
