import { suggestion } from '#relay/config/check.js'
import { defaultLimits, limitBounds, type Limits } from '#relay/config/configuration.js'
import { notFor } from '#relay/config/policy.js'
import type { Rules } from '#relay/config/generated/types.js'
import type { Judgement, ToolSetting } from '#relay/core/options.js'
import { actions, type Policy } from '#relay/core/vocabulary.js'
import {
  actionsOf, isRuleName, type Preset, presetPolicy, presets, ruleNames, rules,
} from '#relay/rules/index.js'
import { CustomsError } from '#relay/base/errors.js'
import { isRecord, type DataObject } from '#relay/protocol/unmetered.js'

/** How to judge; every option has a default. */
export interface JudgeOptions {
  /** Default: `standard`. */
  readonly policy?: Preset
  /** Actions that override the policy's. */
  readonly rules?: Rules
  /** Believe the annotations of this server. Default: false. */
  readonly trusted?: boolean
  /** Settings of single tools, by name. */
  readonly tools?: Readonly<Record<string, ToolOptions>>
  readonly limits?: Partial<Limits>
  /** The server's name in records. Default: `server`. */
  readonly server?: string
}

export interface ToolOptions {
  /** Removes it from lists, and refuses its calls. */
  readonly deny?: boolean
  /** Replaces the server's schema, in the client's list too. */
  readonly outputSchema?: object | boolean
  /** The schema of each whole result (rule `result/contract`). */
  readonly resultSchema?: object | boolean
  /** JSON in the text of a result becomes its structured content, if it matches `outputSchema`. */
  readonly structured?: 'from-text'
  /** Merged over the server's annotations. */
  readonly annotations?: object
}

/** The type of each option. */
const judging: Options = {
  policy: 'string', rules: 'object', trusted: 'boolean', tools: 'object', limits: 'object', server: 'string',
}
const ofTool: Options = {
  deny: 'boolean', outputSchema: 'schema', resultSchema: 'schema', structured: 'string',
  annotations: 'object',
}

/**
 * @param own further options of the caller
 * @throws CustomsError BAD_CONFIG, naming the option
 */
export const readOptions = (given: JudgeOptions, own: Options): Judgement & { readonly limits: Limits } => {
  check(given, { ...judging, ...own }, '')
  const {
    policy = 'standard', rules: overriding = {}, trusted = false, tools = {}, limits = {}, server = 'server',
  } = given
  return {
    server, rules, trusted,
    ruling: {
      policy: readPolicy(policy, { ...overriding }),
      tools: new Map(Object.entries(tools).map(([name, tool]) => [name, readTool(name, tool)])),
    },
    limits: readLimits(limits),
    intent: false,
  }
}

export type Options = Readonly<Record<string, 'string' | 'boolean' | 'object' | 'function' | 'schema'>>

// JavaScript callers may pass anything.
const check = (given: unknown, options: Options, of: string): void => {
  if (typeof given !== 'object' || given === null)
    fail(`${of === '' ? 'the options' : of.slice(0, -2)} must be an object`)
  for (const [name, value] of Object.entries(given as object) as [string, unknown][]) {
    const wanted = Object.hasOwn(options, name)
      ? options[name]
      : fail(`${of}no option ${named(name, Object.keys(options))}`)
    if (value === undefined || wanted === undefined) continue
    const isOne =
      wanted === 'schema' ? typeof value === 'object' || typeof value === 'boolean' : typeof value === wanted
    const words = {
      string: 'text', boolean: 'true or false', object: 'an object', function: 'a function',
      schema: 'an object, true or false',
    }
    if (!isOne || value === null) fail(`${of}${name} must be ${words[wanted]}`)
  }
}

const named = (name: string, candidates: readonly string[]): string =>
  JSON.stringify(name) + (suggestion(name, candidates) || ` (${candidates.join(', ')})`)

const readPolicy = (preset: string, rules: Readonly<Record<string, string | undefined>>): Policy => {
  const known =
    presets.find(one => one === preset)
    ?? fail(`policy: no preset ${JSON.stringify(preset)} (${presets.join(', ')})`)
  const policy = presetPolicy(known, { purpose: 'relay', locked: false })
  for (const [rule, asked] of Object.entries(rules)) {
    if (asked === undefined) continue
    if (!isRuleName(rule)) return fail(`rules: no rule ${JSON.stringify(rule)}${suggestion(rule, ruleNames)}`)
    const action =
      actions.find(one => one === asked)
      ?? fail(`rules: ${rule}: no action ${JSON.stringify(asked)} (${actions.join(', ')})`)
    if (!actionsOf(rule).includes(action)) return fail(`rules: ${rule}: ${notFor(action)}`)
    policy.set(rule, action)
  }
  return policy
}

const readTool = (name: string, tool: ToolOptions): ToolSetting => {
  const of = `tools: ${name}: `
  check(tool, ofTool, of)
  const { deny = false, outputSchema, resultSchema, structured, annotations } = tool
  const source: string | undefined = structured
  if (source !== undefined && source !== 'from-text') fail(`${of}structured must be from-text`)
  if (structured !== undefined && outputSchema === undefined)
    fail(`${of}structured goes only with outputSchema`)
  return {
    denied: deny,
    outputSchema: schemaOf(outputSchema, `${of}outputSchema`),
    resultSchema: schemaOf(resultSchema, `${of}resultSchema`),
    structured,
    annotations: annotations && jsonOf(annotations, `${of}annotations`),
  }
}

const schemaOf = (schema: object | boolean | undefined, option: string): DataObject | boolean | undefined =>
  typeof schema === 'boolean' ? schema : schema && jsonOf(schema, option)

/** A copy, so that later changes by the caller have no effect. */
const jsonOf = (value: object, option: string): DataObject => {
  const json = copyOf(value)
  return isRecord(json) ? json : fail(`${option} must be an object of JSON`)
}

/** Undefined for a value that is not JSON, such as a circular one. */
const copyOf = (value: object): unknown => {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch {
    return undefined
  }
}

/** @throws CustomsError BAD_CONFIG */
export const readLimits = (given: Partial<Limits>): Limits => {
  const limits = { ...defaultLimits }
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (value === undefined) continue
    if (!isLimit(name)) return fail(`limits: no limit ${named(name, Object.keys(limitBounds))}`)
    const { least, most } = limitBounds[name]
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most) {
      return fail(`limits: ${name} must be an integer from ${least} to ${most}`)
    }
    Object.assign(limits, { [name]: value })
  }
  return limits
}

const isLimit = (name: string): name is keyof Limits => Object.hasOwn(limitBounds, name)

const fail = (reason: string): never => {
  throw new CustomsError('BAD_CONFIG', reason)
}
