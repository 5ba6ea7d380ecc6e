/** The programs a tunnel is made with: the bundle's in a sandbox, the machine's for a daemon that runs on its own. */
import { spawn } from 'node:child_process'
import { closeSync, existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { makePipe } from '../native/descriptors/descriptors.ts'

const bundle = '/.hutch'
/** Only where no bundle is: in a sandbox a tenant can replace what is here. */
const systemDirs = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']
const limitMs = 20_000

export type Tool = 'ip' | 'wg' | 'wireguard-go' | 'xtables-nft-multi' | 'xtables-legacy-multi'

export interface Tools {
  /** Absolute path, or undefined when it is not there. */
  find(tool: Tool): string | undefined
  /** Runs a tool to its end and answers what it wrote. Throws an Error with its last words when it fails. */
  run(tool: Tool, args: readonly string[], input?: string): Promise<string>
}

const missing = (tool: Tool): Error =>
  new Error(`${tool} is missing; install it, or run make setup to build the bundle`)

export const createTools = (): Tools => {
  const inside = existsSync(join(bundle, 'bin'))
  const dirs = inside ? [join(bundle, 'bin')] : systemDirs
  const env = inside ? { XTABLES_LIBDIR: join(bundle, 'lib/xtables') } : {}
  const find = (tool: Tool) => dirs.map(dir => join(dir, tool)).find(path => existsSync(path))
  return {
    find,
    async run(tool, args, input = '') {
      const file = find(tool)
      if (!file) throw missing(tool)
      // A pipe and not Node's socket pair: wg opens its input by name, which no socket allows.
      const { read, write } = makePipe()
      const stdin = new Socket({ fd: write, readable: false, writable: true })
      const child = spawn(file, args, {
        cwd: '/',
        env,
        stdio: [read, 'pipe', 'pipe'],
        timeout: limitMs,
        killSignal: 'SIGKILL',
      })
      closeSync(read)
      const ended = new Promise<string | undefined>(resolve => {
        child.once('error', error => resolve(error.message))
        child.once('close', (code, signal) => resolve(code === 0 ? undefined : (signal ?? `exit code ${code}`)))
      })
      // A tool that ends early does not read all of its input; how it ended says why.
      stdin.on('error', () => {})
      stdin.end(input)
      const [said, complaint, failure] = await Promise.all([
        text(child.stdout as Readable),
        text(child.stderr as Readable),
        ended,
      ])
      if (failure === undefined) return said
      throw new Error(`${tool} ${args.join(' ')}: ${complaint.trim().slice(-500) || failure}`)
    },
  }
}
