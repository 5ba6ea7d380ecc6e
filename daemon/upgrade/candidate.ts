/** Starts a release as a rehearsal: only we know where it listens, and it changes nothing. */
import { spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import type { BootDocument } from '../../shared/wire/host.ts'
import { keyBytes } from '../../shared/channel.ts'
import { randomBytes } from '../native/sys/sys.ts'
import { listenTcp } from '../native/descriptors/descriptors.ts'
import { privateFd, privatePlaceAt } from '../config/private-place.ts'
import { handoverAt, noHandover, nothingInherited, writeHandover } from './handover.ts'

/** A started candidate. */
export interface Candidate {
  /** Where it listens, on loopback. */
  readonly port: number
  /** Resolves with a description when it ends by itself. */
  readonly ended: Promise<string>
  stop(): Promise<void>
}

/** Where a candidate finds its socket, after the standard descriptors. */
export const rehearsalFd = 3
/** Where it finds what the host has given. */
const handoverFd = 4

interface CandidateOptions {
  readonly command: readonly string[]
  /** Its standard input, if that is its program. */
  readonly input: number | undefined
  readonly env: NodeJS.ProcessEnv
  readonly boot: BootDocument | undefined
}

/** It only shows what is there: without the key of the seal it believes all of it. */
const rehearsed = (boot: BootDocument, key: string): BootDocument => {
  const { seal: _, ...machine } = boot.machine
  return { ...boot, channel: { ...boot.channel, key }, machine }
}

export const startCandidate = ({ command, input, env, boot }: CandidateOptions): Candidate => {
  const [file = '', ...args] = command
  // It listens already: a tenant can neither take the port before the candidate nor answer in its place.
  const { port, fd } = listenTcp(0, '127.0.0.1')
  // With a key it refuses tenants what we refuse them. Not with ours: nobody is to prove anything to it.
  const key = randomBytes(keyBytes).toString('base64url')
  const given = boot && writeHandover({ ...nothingInherited, boot: rehearsed(boot, key) })
  // The place of our own records, which it reads.
  const place = privateFd(env)
  const passed = [fd, ...(given === undefined ? [] : [given])]
  try {
    const child = spawn(file, [...args, '--port', String(port)], {
      stdio: [input ?? 'ignore', 'ignore', 'inherit', ...passed, ...(place === undefined ? [] : [place])],
      env: {
        ...env,
        ...(given === undefined ? noHandover : handoverAt(given, handoverFd)),
        ...privatePlaceAt(place === undefined ? undefined : rehearsalFd + passed.length),
        HUTCH_REHEARSAL: '1',
      },
    })
    const ended = new Promise<string>(resolve => {
      child.once('error', error => resolve(error.message))
      child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
    })
    const stop = async () => {
      child.kill('SIGKILL')
      await ended
    }
    return { port, ended, stop }
  } finally {
    closeSync(fd)
    if (given !== undefined) closeSync(given)
  }
}
