/** The programs that a tunnel needs: in a sandbox the bundle's, for a daemon outside of one the machine's. */
import { spawn } from 'node:child_process'
import { closeSync, existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { bundleMount, isInSandbox } from '../init/sandbox.ts'
import { makePipe } from '../native/descriptors/descriptors.ts'

/** Used only without a bundle: in a sandbox a tenant can replace these files. */
const systemDirs = ['/usr/sbin', '/usr/bin', '/sbin', '/bin']
const limitMs = 20_000

export type Tool = 'ip' | 'wg' | 'wireguard-go' | 'xtables-nft-multi' | 'xtables-legacy-multi'

export interface Tools {
  /** The absolute path of a program, or undefined when there is none. */
  find(tool: Tool): string | undefined
  /** Runs a tool and returns its output. Throws an Error with its last output when it fails. */
  run(tool: Tool, args: readonly string[], input?: string): Promise<string>
}

const missing = (tool: Tool): Error =>
  new Error(`${tool} is missing; install it, or run make setup to build the bundle`)

export const createTools = (): Tools => {
  const inside = isInSandbox()
  const dirs = inside ? [join(bundleMount, 'bin')] : systemDirs
  // A lock that a tenant could hold would keep the firewall from being set; this file is each process's own.
  const env = inside ? { XTABLES_LIBDIR: join(bundleMount, 'lib/xtables'), XTABLES_LOCKFILE: '/proc/self/comm' } : {}
  const find = (tool: Tool) => dirs.map(dir => join(dir, tool)).find(path => existsSync(path))
  return {
    find,
    async run(tool, args, input = '') {
      const file = find(tool)
      if (!file) throw missing(tool)
      // A pipe and not Node's socket pair: wg opens its input by name, which fails for a socket.
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
      // A tool that ends early does not read all of its input; its exit status says why.
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
