/**
 * A virtual machine with a kernel of its own: systemd, version-2 control groups, and a disk that is gone at the end. QEMU computes every
 * instruction (no KVM), which takes some ten times as long.
 */
import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Disk } from './vm-disk.ts'

export interface Vm {
  /** Runs lines of bash as root in the checkout; what they say and their exit code. */
  run(lines: string, timeoutS?: number): Promise<{ out: string; code: number }>
  /** As the button does: nothing is written back or ended first. Resolves when it has booted again, from the disk it had. */
  reset(): Promise<void>
  /** Ends it. */
  end(): Promise<void>
}

const bootS = 600

/** A serial port's text, looked for what is next. */
const portOf = (socket: Socket) => {
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  return async (pattern: RegExp, timeoutS: number): Promise<RegExpExecArray & { before: string }> => {
    for (let left = timeoutS * 5; left > 0; left--) {
      const found = pattern.exec(text)
      if (found) {
        const before = text.slice(0, found.index)
        text = text.slice(found.index + found[0].length)
        return Object.assign(found, { before })
      }
      await setTimeout(200)
    }
    throw new Error(`the machine did not say ${pattern} in ${timeoutS} s; it said: ${text.slice(-2000)}`)
  }
}

const connected = async (path: string): Promise<Socket> => {
  for (let tries = 0; ; tries++)
    try {
      return await new Promise<Socket>((resolve, reject) => {
        const socket = connect(path, () => resolve(socket)).once('error', reject)
      })
    } catch (error) {
      if (tries > 100) throw error
      await setTimeout(100)
    }
}

/** One command to the machine itself (QMP, qemu-qmp-ref(7)). */
const tellQemu = async (path: string, command: string): Promise<void> => {
  const socket = await connected(path)
  const said = portOf(socket)
  try {
    await said(/"QMP"/, 10)
    for (const execute of ['qmp_capabilities', command]) {
      socket.write(JSON.stringify({ execute }))
      await said(/"return": \{\}/, 10)
    }
  } finally {
    socket.destroy()
  }
}

/** `spare` is a second disk, /dev/vdb, with nothing on it; both are as large as they are written. */
const argumentsOf = ({ image, kernel, initrd, spare }: Disk, dir: string): string[] =>
  [
    ['-accel', 'tcg,thread=multi', '-cpu', 'max', '-smp', '2', '-m', '4096', '-nodefaults', '-display', 'none'],
    ['-kernel', kernel, '-initrd', initrd],
    ['-append', 'root=/dev/vda rw console=ttyS0 systemd.unified_cgroup_hierarchy=1 mitigations=off quiet'],
    ['-drive', `file=${image},format=raw,if=virtio,snapshot=on`, '-drive', `file=${spare},format=raw,if=virtio`],
    ['-qmp', `unix:${join(dir, 'qmp')},server=on,wait=off`],
    ['-serial', `file:${join(dir, 'console.log')}`, '-serial', `unix:${join(dir, 'port')},server=on,wait=off`],
  ].flat()

/** Boots it; `dir` gets its console and takes the sockets. */
export const bootVm = async (disk: Disk, dir: string): Promise<Vm> => {
  const qemu = spawn('nice', ['-n', '5', 'qemu-system-x86_64', ...argumentsOf(disk, dir)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  qemu.stderr.pipe(createWriteStream(join(dir, 'qemu.log')))
  const ended = new Promise<void>(resolve => void qemu.once('exit', () => resolve()))
  const end = async () => {
    qemu.kill('SIGKILL')
    await ended
  }
  try {
    const port = await connected(join(dir, 'port'))
    const said = portOf(port)
    const ready = () => said(/<ready \S+>/, bootS)
    await ready()
    return {
      async reset() {
        await tellQemu(join(dir, 'qmp'), 'system_reset')
        await ready()
      },
      async run(lines, timeoutS = 120) {
        port.write(`${Buffer.from(lines).toString('base64')}\n`)
        const { before, 1: code } = await said(/<exit (\d+)>/, timeoutS)
        return { out: before.trim(), code: Number(code) }
      },
      end,
    }
  } catch (error) {
    await end()
    throw error
  }
}
