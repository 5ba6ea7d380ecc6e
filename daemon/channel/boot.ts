/**
 * The document that the host gives to the daemon on standard input. A daemon that is told to expect one does not start
 * without it: it would answer everything to everybody.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { keyBytes } from '../../shared/channel.ts'
import type { BootDocument } from '../../shared/wire/host.ts'
import type { Env } from '../config/read.ts'
import type { Inherited } from '../upgrade/handover.ts'

/** An environment is at most 2 MiB, or no process could be started with it. */
const maxBytes = 16 * 1024 * 1024

const readInput = (): string => {
  const pieces: Buffer[] = []
  for (let total = 0; ; ) {
    const piece = Buffer.alloc(64 * 1024)
    const read = readSync(0, piece)
    if (read === 0) return Buffer.concat(pieces).toString('utf8')
    total += read
    if (total > maxBytes) throw new Error(`the boot document is larger than ${maxBytes} bytes`)
    pieces.push(piece.subarray(0, read))
  }
}

/** Nobody can read it a second time, and the descriptor is not given to something else. */
const closeInput = (): void => {
  closeSync(0)
  if (openSync('/dev/null', 'r') !== 0) throw new Error('standard input cannot be replaced')
}

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && Object.values(value).every(text => typeof text === 'string')

const isKey = (text: unknown): boolean => Buffer.from(String(text), 'base64url').length === keyBytes

const isSeal = (value: BootDocument['machine']['seal']): boolean =>
  value === undefined || (isKey(value.key) && typeof value.legacy === 'boolean')

const isIdentity = (value: BootDocument['configuration']['identity']): boolean =>
  value === undefined ||
  (isTexts(value.labels) && [value.name, value.workspace, value.workspaceId].every(text => typeof text === 'string'))

/** By hand: loading the schema library for it would take 4 ms of every start. */
const check = (given: unknown): BootDocument => {
  const { channel, machine, configuration, resolvers } = given as Partial<BootDocument>
  const whole =
    isKey(channel?.key) &&
    Number.isInteger(channel?.port) &&
    (channel?.from === undefined || typeof channel.from === 'string') &&
    typeof machine?.id === 'string' &&
    (machine.memoryBytes === undefined || Number.isSafeInteger(machine.memoryBytes)) &&
    isSeal(machine.seal) &&
    (resolvers === undefined || (Array.isArray(resolvers) && resolvers.every(one => typeof one === 'string'))) &&
    isTexts(configuration?.environment) &&
    isIdentity(configuration.identity)
  if (!whole) throw new Error('the boot document is not whole')
  return given as BootDocument
}

const parse = (text: string): BootDocument => {
  try {
    return check(JSON.parse(text))
  } catch (error) {
    // A parser's own words would quote the document, and the log is not the place for what is in it.
    if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error
    throw new Error('the boot document is not JSON')
  }
}

/**
 * What the host has given, at the start or to the daemon before this one; undefined for a daemon that nobody hosts.
 * Throws when it is missing or not whole.
 */
export const receiveBoot = (env: Env, inherited: Inherited): BootDocument | undefined => {
  if (inherited.boot) return inherited.boot
  if (env['HUTCH_BOOT'] !== 'stdin') return undefined
  const text = readInput()
  closeInput()
  return parse(text)
}
