/**
 * The key of the channel on its way to the next daemon. Not in the handover's document: on gVisor a tenant can open the
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

const withKey = (boot: BootDocument, key: string): BootDocument => ({ ...boot, channel: { ...boot.channel, key } })

/** The document without its key, and where the key can be read once. */
export const partKey = (boot: BootDocument): Parted => {
  const fd = secretDescriptor(Buffer.from(boot.channel.key, 'base64url'))
  return { boot: withKey(boot, ''), key: { fd, inode: fstatSync(fd).ino } }
}

/** The document as it was. Throws when the key is not there. */
export const joinKey = ({ boot, key: { fd, inode } }: Parted): BootDocument => {
  if (fstatSync(fd).ino !== inode) throw new Error('the key of the channel is not where the handover says')
  const bytes = Buffer.alloc(keyBytes)
  const read = readSync(fd, bytes)
  closeSync(fd)
  if (read !== keyBytes) throw new Error('the key of the channel is not whole')
  return withKey(boot, bytes.toString('base64url'))
}
