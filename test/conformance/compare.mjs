// Judges a summary of the conformance suite, run without and with the relay: `node compare.mjs SUMMARY.json`. Exits 1 when the
// relay made a difference that is not named here. `translated`: the suite is of one era and its server of the other, so that most
// checks fail without the relay.
import { readFileSync } from 'node:fs'

// A process has no event ids: the relay in front of it answers in JSON, and where it streams, the stream cannot be resumed. The
// suite says of these checks that they SHOULD, and leaves them out.
const ofProcesses = new Set([
  'server-sse-priming-event', 'server-sse-retry-field', 'server-sse-disconnect-resume', 'server-sse-streams-functional',
])

// A relay names the questions of a legacy server itself, and the suite's tool does not ask a legacy client that declares nothing.
const notTranslated = new Set([
  'sep-2322-elicitation-incomplete', 'sep-2575-server-rejects-undeclared-capability', 'sep-2575-missing-capability-http-400',
])

const { relay, direct, relayed, differences, legs } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const isTranslated = process.argv[3] === 'translated'
// New credentials are a new authorization context, whose tools the relay lists itself before a call: one more request that
// the suite finds well authorized.
const isOwnList = ({ scenario, direct: without, relayed: status }) =>
  scenario === 'auth/scope-step-up' && without === 'absent' && status === 'SUCCESS'
const isOfProcesses = ({ check, relayed: status }) =>
  relay.includes(' -- ') && status === 'absent' && ofProcesses.has(check.split(' ')[0])
// Where the relay logs in at the issuer (login.js), how often it asks is its own affair: it remembers metadata, and steps up itself. It
// reads no metadata of an issuer that a wrong resource names. And it keeps the issuer of the first login, for all its clients, until
// `logout`: a server that names another one later gets neither a registration nor a user there (docs/auth.md).
const keepsIssuer = new Set(['sep-2352-reregister-on-as-change', 'client-exit'])
const isOfLogins = ({ scenario, check, relayed: status }) => relay.includes('login.js') && (
  status === 'SUCCESS'
  || (status === 'absent' && (!check.endsWith('#1') || scenario === 'auth/resource-mismatch'))
  || (scenario === 'auth/authorization-server-migration' && keepsIssuer.has(check.split(' ')[0])))
const isExpected = difference => isOwnList(difference) || isOfProcesses(difference) || isOfLogins(difference)
const failures = Object.values(legs).flatMap(leg => Object.values(leg.relayed.perScenario)).flatMap(one => one.failures ?? [])
const surprises = isTranslated
  ? failures.filter(text => !notTranslated.has(text.split(':')[0])).map(message => ({ leg: 'translated', check: message, message }))
  : differences.filter(difference => !isExpected(difference))
for (const { leg, check, direct, relayed, message } of surprises) console.log(`${leg}: ${check}: ${direct}, relayed ${relayed}: ${message}`)
console.log(`${direct.passed} checks pass without the relay, ${relayed.passed} with it; ${surprises.length} unexpected differences`)
const isSound = isTranslated ? relayed.passed >= 80 : direct.failed === 0 && direct.passed > 0
process.exitCode = surprises.length === 0 && isSound ? 0 : 1
