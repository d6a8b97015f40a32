// Runs a built image: a new process, network and mount namespace, a read-only root, no capability, no new privilege.
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

// Positional: root, then pairs of folders to bind, then -- and the command.
const inside = `
  set -e
  root=$1; shift
  ip link set lo up
  mount -t proc proc "$root/proc"
  while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done
  shift
  mount -o remount,bind,ro "$root"
  exec "$@"
`

/** The outputs of a command that is waited for. */
const piped = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }

const unprivileged = user => {
  const [uid, gid] = user.split(':')
  const capabilities = ['--bounding-set=-all', '--inh-caps=-all']
  return ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...capabilities, '--no-new-privs']
}

/**
 * @param image of buildImage
 * @param work a folder of ours
 * @param options { args, env, mounts: [[host folder or file, path]] }; without args the image's own CMD
 */
export const startContainer = async (image, work, { args = image.command, env = {}, mounts = [] } = {}) => {
  const environment = { ...Object.fromEntries(image.env), ...env }
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  const volumes = image.volumes.map(() => volume(work, image.user))
  const binds = [...image.volumes.map((path, index) => [volumes[index], path]), ...mounts]
  for (const [host, path] of binds) prepare(join(image.root, path), host)
  const child = spawn('unshare', [
    '--mount', '--pid', '--fork', '--net', '--kill-child', 'sh', '-c', inside, 'sh', image.root, ...binds.flat(), '--',
    'chroot', image.root, ...unprivileged(image.user), 'env', '-i', ...variables, ...image.entrypoint, ...args,
  ])
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', text => { output[name] += text })
  const exited = new Promise(resolve => child.once('exit', (code, signal) => resolve(code ?? signal)))
  let ended = false
  exited.then(() => { ended = true })

  // unshare's only child is PID 1 in there.
  const first = () => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()
  const enter = (...flags) => ['--target', first(), '--net', ...flags]
  const execIn = (...command) => ['nsenter', enter('--mount', '--pid', '--root', '--wd=/').concat(
    unprivileged(image.user), 'env', '-i', ...variables, ...command)]

  const until = async (what, condition) => {
    for (const deadline = Date.now() + 15_000; Date.now() < deadline && !ended; await wait(100)) {
      try {
        if (await condition()) return
      } catch {
        // Not yet.
      }
    }
    throw new Error(`not in time: ${what}\n${output.stdout}${output.stderr}`)
  }

  return {
    output,
    exited,
    until,
    /** Where the image's volumes are on this machine, in its order. */
    volumes,
    stdin: child.stdin,
    /** A command in the container, as `docker exec`. @throws when it fails */
    exec: (...command) => execFileSync(...execIn(...command), piped),
    /** The same, in the background; it ends with the container. */
    background: (...command) => spawn(...execIn(...command), { stdio: 'ignore' }),
    /** A command of this machine, on the container's network. */
    beside: (...command) => execFileSync('nsenter', [...enter(), ...command], piped),
    /** As `docker stop`. @returns the exit code */
    stop: async () => {
      process.kill(Number(first()), 'SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 15_000)
      const code = await exited
      clearTimeout(late)
      return code
    },
  }
}

/** An empty folder that belongs to the image's user. */
const volume = (work, user) => {
  const folder = mkdtempSync(join(work, 'volume-'))
  chownSync(folder, ...user.split(':').map(Number))
  chmodSync(folder, 0o700)
  return folder
}

/** A place to mount on. */
const prepare = (path, host) => {
  if (statSync(host).isDirectory()) return mkdirSync(path, { recursive: true })
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, '', { flag: 'a' })
}
