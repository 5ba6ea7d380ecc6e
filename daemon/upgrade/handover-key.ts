/**
 * The keys of the channel and of the seal on their way to the next daemon. Not in the handover's document: on gVisor a tenant can open the
 * daemon's files by /proc/1/fd while the document is there to be read.
 */
import { closeSync, fstatSync, readSync } from 'node:fs'
import { keyBytes } from '../../shared/channel.ts'
import type { BootDocument } from '../../shared/wire/host.ts'
import { secretDescriptor } from '../native/descriptors/descriptors.ts'

export interface Place {
  readonly fd: number
  readonly inode: number
}

interface Parted {
  readonly boot: BootDocument
  readonly key: Place
}

/** Whoever has had the seal's key has sealed all that there is. */
const withKeys = (boot: BootDocument, key: string, sealKey: string): BootDocument => {
  const { channel, machine } = boot
  const seal = machine.seal && { seal: { key: sealKey, legacy: false } }
  return { ...boot, channel: { ...channel, key }, machine: { ...machine, ...seal } }
}

/** The document without its keys, and where these can be read once: the channel's first, which is all that releases before read. */
export const partKey = (boot: BootDocument): Parted => {
  const keys = [boot.channel.key, boot.machine.seal?.key ?? ''].map(key => Buffer.from(key, 'base64url'))
  const fd = secretDescriptor(Buffer.concat(keys))
  return { boot: withKeys(boot, '', ''), key: { fd, inode: fstatSync(fd).ino } }
}

/** The document as it was. Throws when the keys are not there. */
export const joinKey = ({ boot, key: { fd, inode } }: Parted): BootDocument => {
  if (fstatSync(fd).ino !== inode) throw new Error('the key of the channel is not where the handover says')
  const bytes = Buffer.alloc(boot.machine.seal ? 2 * keyBytes : keyBytes)
  const read = readSync(fd, bytes)
  closeSync(fd)
  if (read !== bytes.length) throw new Error('the key of the channel is not whole')
  const [key = '', sealKey = ''] = [0, keyBytes].map(at => bytes.toString('base64url', at, at + keyBytes))
  return withKeys(boot, key, sealKey)
}
