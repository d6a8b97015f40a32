// Carries out a Dockerfile with overlay mounts and chroot: the instructions that ours has, and an error for any other.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'

const shell = (command, ...args) => execFileSync(command, args, { encoding: 'utf8' }).trim()

/** The words of the exec form. */
const words = instruction => JSON.parse(/\[.*\]/s.exec(instruction.getRawArgumentsContent())[0])

/**
 * @param work a folder of ours, with the tools
 * @param base the root folder that the base image stands on
 * @returns { root, env, user, entrypoint, command, health, volumes } of the last stage
 */
export const buildImage = (work, base) => {
  const tool = createRequire(join(work, 'tools', 'package.json'))
  const { DockerfileParser } = tool('dockerfile-ast')
  const context = copyContext(work, tool('@balena/dockerignore'))
  // Layers of an overlay must not lie within each other, and the base may be this machine's root: so they get a file system
  // of their own.
  const layers = join(work, 'layers')
  mkdirSync(layers)
  shell('mount', '-t', 'tmpfs', '-o', 'mode=711', 'layers', layers)
  const node = nodeLayer(work, join(layers, 'node'))
  const stages = new Map()
  const args = new Map()
  let stage

  const from = instruction => {
    const image = instruction.getImage().replace(/\$\{(\w+)\}/g, (_, name) => args.get(name))
    const parent = stages.get(image)
    if (!parent && !/^node:\d+(?:\.\d+)*-\w+-slim$/.test(image)) throw new Error(`FROM ${image}: not prepared for`)
    const folder = join(layers, String(stages.size))
    stage = {
      layers: parent ? [join(parent.folder, 'upper'), ...parent.layers] : [node, base],
      folder, root: join(folder, 'root'), directory: '/', user: '0:0', volumes: [],
      env: new Map(parent?.env ?? [['PATH', '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin']]),
    }
    stages.set(instruction.getBuildStage() ?? folder, stage)
    mount(stage, work)
  }

  const copy = instruction => {
    const flags = new Map(instruction.getFlags().map(flag => [flag.getName(), flag.getValue()]))
    const source = flags.get('from')
    flags.delete('from')
    if (flags.size > 0) throw new Error(`COPY --${[...flags.keys()].join(', --')}: not prepared for`)
    const given = instruction.getArguments().map(argument => argument.getValue())
    const target = given.pop()
    const to = join(stage.root, resolve(stage.directory, target))
    for (const name of given) {
      const path = join(source === undefined ? context : stages.get(source).root, name)
      const into = statSync(path).isFile() && target.endsWith('/') ? join(to, basename(name)) : to
      cpSync(path, into, { recursive: true, verbatimSymlinks: true })
    }
  }

  for (const instruction of DockerfileParser.parse(readFileSync('Dockerfile', 'utf8')).getInstructions()) {
    const name = instruction.getKeyword()
    switch (name) {
      case 'ARG': args.set(instruction.getProperty().getName(), instruction.getProperty().getValue()); break
      case 'FROM': from(instruction); break
      case 'WORKDIR':
        stage.directory = instruction.getArguments()[0].getValue()
        mkdirSync(join(stage.root, stage.directory), { recursive: true })
        break
      case 'ENV':
        for (const property of instruction.getProperties()) stage.env.set(property.getName(), property.getValue())
        break
      case 'COPY': copy(instruction); break
      case 'RUN': runIn(stage, instruction.getRawArgumentsContent()); break
      case 'USER': stage.user = instruction.getArguments()[0].getValue(); break
      case 'VOLUME': stage.volumes.push(...instruction.getArguments().map(argument => argument.getValue())); break
      case 'HEALTHCHECK': stage.health = words(instruction); break
      case 'ENTRYPOINT': stage.entrypoint = words(instruction); break
      case 'CMD': stage.command = words(instruction); break
      case 'EXPOSE': break
      default: throw new Error(`${name}: not prepared for`)
    }
  }
  return stage
}

/** What the engine would be sent: .dockerignore's rest of the repository. */
const copyContext = (work, dockerignore) => {
  const text = readFileSync('.dockerignore', 'utf8')
  const ignore = dockerignore().add(text)
  const context = join(work, 'context')
  const exceptions = text.split('\n').filter(line => line.startsWith('!') && line.includes('/')).map(line => line.slice(1))
  for (const name of [...readdirSync('.'), ...exceptions]) {
    if (!ignore.ignores(name)) cpSync(name, join(context, name), { recursive: true })
  }
  return context
}

/** What the official image adds to Debian: Node and npm in /usr/local, and a user 1000 (the number is enough here). */
const nodeLayer = (work, layer) => {
  const local = join(layer, 'usr', 'local')
  mkdirSync(join(local, 'lib/node_modules'), { recursive: true })
  cpSync(join(work, 'tools/node_modules', `node-linux-${process.arch}`, 'bin'), join(local, 'bin'), { recursive: true })
  const npm = dirname(dirname(realpathSync(shell('which', 'npm'))))
  cpSync(npm, join(local, 'lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx']) symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, 'bin', name))
  return layer
}

const mount = ({ layers, folder, root }, work) => {
  for (const name of ['upper', 'work', 'root']) mkdirSync(join(folder, name), { recursive: true })
  const options = `lowerdir=${layers.join(':')},upperdir=${join(folder, 'upper')},workdir=${join(folder, 'work')}`
  shell('mount', '-t', 'overlay', 'overlay', '-o', options, root)
  for (const name of ['proc', 'dev', 'etc']) mkdirSync(join(root, name), { recursive: true })
  shell('mount', '-t', 'proc', 'proc', join(root, 'proc'))
  shell('mount', '--rbind', '/dev', join(root, 'dev'))
  writeFileSync(join(root, 'etc/resolv.conf'), readFileSync('/etc/resolv.conf'))
  // Over this machine's root: the steps must not find the repository, nor this folder.
  const ours = [process.cwd(), work].map(path => join(root, path)).filter(path => existsSync(path))
  for (const path of ours) shell('mount', '-t', 'tmpfs', 'empty', path)
}

/** A command line for /bin/sh, as in `RUN`. */
const runIn = ({ root, env, directory }, text) => {
  // A cache mount only saves time: here it is npm's own cache of this machine.
  const [, target, line] = /^(?:--mount=type=cache,target=(\S+)\s+)?(.*)$/s.exec(text)
  if (line.startsWith('--')) throw new Error(`RUN ${line}: not prepared for`)
  if (target !== undefined) {
    const cache = join(shell('npm', 'config', 'get', 'cache'))
    mkdirSync(cache, { recursive: true })
    mkdirSync(join(root, target), { recursive: true })
    shell('mount', '--bind', cache, join(root, target))
  }
  const variables = new Map([['HOME', '/root'], ['DEBIAN_FRONTEND', 'noninteractive'], ...env])
  // A network that inspects TLS has an authority of its own.
  const authorities = process.env.NODE_EXTRA_CA_CERTS
  if (authorities) {
    writeFileSync(join(root, 'etc/extra-ca.pem'), readFileSync(authorities))
    variables.set('NODE_EXTRA_CA_CERTS', '/etc/extra-ca.pem')
  }
  console.log(`RUN ${line.replace(/\s*\\\n\s*/g, ' ')}`)
  const assignments = [...variables].map(([name, value]) => `${name}=${value}`)
  const { status, stdout, stderr } = spawnSync(
    'chroot', [root, 'env', '-i', ...assignments, 'sh', '-c', `cd ${directory} && ${line}`], { encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`RUN ${line}: exit ${status}\n${stdout}${stderr}`)
}
