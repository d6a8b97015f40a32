import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseRules, readPolicy } from '#relay/config/policy-file.js'
import { resolvePolicy } from '#relay/config/policy.js'
import { presets, ruleNamed, ruleNames, type RuleName } from '#relay/rules/index.js'

type Setting = string | Readonly<Record<string, string>>

const preset = (name: string): Map<string, Setting> => {
  const text = readFileSync(new URL(`../../../config/${name}.json`, import.meta.url), 'utf8')
  return new Map(Object.entries((JSON.parse(text) as { rules: Record<string, Setting> }).rules))
}

/** One action when the circumstances no longer matter. */
const simplified = (setting: Setting): Setting => {
  const choices = new Set(typeof setting === 'string' ? [setting] : Object.values(setting))
  return choices.size === 1 ? [...choices][0] ?? '' : setting
}

const changed = (setting: Setting, change: (action: string) => string): Setting =>
  simplified(typeof setting === 'string'
    ? change(setting)
    : Object.fromEntries(Object.entries(setting).map(([when, action]) => [when, change(action)])))

t.test('every preset names every rule, in the order of the contract', t => {
  for (const name of presets) t.strictSame([...preset(name).keys()], [...ruleNames])
  t.end()
})

t.test('observe is standard with log for whatever acts, but wire/size', t => {
  for (const [rule, setting] of preset('standard')) {
    const expected = changed(setting, action => (action === 'off' || rule === 'wire/size' ? action : 'log'))
    t.strictSame(preset('observe').get(rule), expected, rule)
  }
  t.equal(preset('observe').get('wire/size'), 'block')
  t.end()
})

t.test('strict is standard with block for whatever acts, but advice', t => {
  for (const [rule, setting] of preset('standard')) {
    const advice = rule.startsWith('advice/')
    const expected = changed(setting, action => (action === 'off' || advice ? action : 'block'))
    t.strictSame(preset('strict').get(rule), expected, rule)
  }
  t.end()
})

t.test('compat is standard with mend for every rule that says how', t => {
  for (const [rule, setting] of preset('standard')) {
    t.strictSame(preset('compat').get(rule), ruleNamed(rule)?.mend === undefined ? setting : 'mend', rule)
  }
  t.end()
})

const relay = { purpose: 'relay', locked: false } as const

t.test('without a word from anyone, standard holds', async t => {
  const policy = resolvePolicy([], relay)
  t.equal(policy.size, ruleNames.length)
  t.equal(policy.get('result/schema'), 'block')
  t.equal(policy.get('result/missing'), 'demote')
  t.equal(policy.get('result/undeclared'), 'off')
})

t.test('advice is given by inspect, and by relays only when asked for', async t => {
  const rule = 'advice/flat-list'
  t.equal(resolvePolicy([], relay).get(rule), 'off')
  t.equal(resolvePolicy([], { ...relay, purpose: 'inspect' }).get(rule), 'log')
  t.equal(resolvePolicy([{ rules: parseRules([`${rule}=log`]) }], relay).get(rule), 'log')
})

t.test('drift blocks with a lock', async t => {
  const drift = async (name: string, locked: boolean) =>
    resolvePolicy([{ policy: await readPolicy(name, {}) }], { ...relay, locked }).get('tool/drift')
  t.equal(await drift('standard', true), 'block')
  t.equal(await drift('standard', false), 'log')
  t.equal(await drift('observe', true), 'log')
  t.equal(await drift('strict', false), 'block')
})

t.test('the last policy counts, and every rule over it', async t => {
  const policy = resolvePolicy([
    {
      policy: await readPolicy('observe', {}), rules: parseRules(['result/text=off', 'result/format=block']),
    },
    { rules: parseRules(['result/format=off']) },
    { policy: await readPolicy('strict', {}), rules: parseRules(['call/arguments=log']) },
  ], relay)
  t.equal(policy.get('result/text'), 'off', 'of the first layer')
  t.equal(policy.get('result/format'), 'off', 'of the second')
  t.equal(policy.get('call/arguments'), 'log', 'of the third')
  t.equal(policy.get('result/no-text'), 'block', 'of the last policy')
})

t.test('a policy file extends a preset', async t => {
  const directory = t.testdir({
    'a.yaml': 'extends: strict\nrules: { result/schema: demote }\n',
    'b.json': '{ "rules": { "wire/id": "log" } }',
    'bad.yaml': 'extends: strickt\n',
    'mend.yaml': 'rules: { wire/id: mend }\n',
  })
  const resolved = async (file: string) =>
    resolvePolicy([{ policy: await readPolicy(join(directory, file), {}) }], relay)
  t.equal((await resolved('a.yaml')).get('result/schema'), 'demote')
  t.equal((await resolved('a.yaml')).get('result/text'), 'block')
  t.equal((await resolved('b.json')).get('wire/id'), 'log')
  t.equal((await resolved('b.json')).get('result/schema'), 'block')
  await t.rejects(resolved('bad.yaml'), {
    code: 'BAD_CONFIG',
    message: `${join(directory, 'bad.yaml')}:1:1: extends: must be observe, standard, strict, compat, not "strickt"; did you mean "strict"?`,
  })
  await t.rejects(
    resolved('mend.yaml'), { code: 'BAD_CONFIG', message: /rules\.wire\/id: mend is for rules that say how/ },
  )
  await t.rejects(resolved('none.yaml'), { code: 'BAD_CONFIG', message: /cannot be read: .*\(ENOENT\)/ })
  await t.rejects(
    readPolicy('stict', {}),
    { code: 'BAD_USAGE', message: /--policy "stict": no such preset; did you mean "strict"/ },
  )
})

const wrong = [
  ['result/shema=block', '--rule "result/shema=block": unknown rule; did you mean "result/schema"?'],
  ['nothing/near=block', '--rule "nothing/near=block": unknown rule'],
  ['result/schema=deny', '--rule "result/schema=deny": unknown action "deny": must be off, log, demote, mend or block'],
  ['result/text=never', '--rule "result/text=never": unknown action "never": must be off, log, demote, mend or block'],
  ['wire/id=never', '--rule "wire/id=never": unknown action "never": must be off, log or block'],
  ['result/schema', '--rule "result/schema": must be ID=ACTION'],
  ['result/schema=log=block', '--rule "result/schema=log=block": must be ID=ACTION'],
  ['constructor=log', '--rule "constructor=log": unknown rule'],
  ['tool/schema=demote', '--rule "tool/schema=demote": demote is for rules under result/ only'],
  [
    'result/unchecked=mend',
    '--rule "result/unchecked=mend": mend is for rules that say how, which this one does not',
  ],
  ['content/base64=demote', '--rule "content/base64=demote": demote is for rules under result/ only'],
] as const

for (const [flag, message] of wrong) {
  t.test(`--rule ${flag} is wrong usage`, t => {
    t.throws(() => parseRules([flag]), { code: 'BAD_USAGE', exitCode: 2, message })
    t.end()
  })
}

t.test('the last of two flags for one rule wins', t => {
  const rules: ReadonlyMap<RuleName, string> = parseRules(['wire/id=log', 'wire/id=off'])
  t.strictSame([...rules], [['wire/id', 'off']])
  t.end()
})
