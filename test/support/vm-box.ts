/** A virtual machine for a soak, or why there can be none. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { checkout, findInPath } from './chroot.ts'
import type { Teardowns } from './server.ts'
import { bootVm, type Vm } from './vm.ts'
import { makeDisk } from './vm-disk.ts'

/** Installs QEMU where it is missing. */
export const whyNoVm = (): string | undefined => {
  if (process.getuid?.() !== 0) return 'needs root'
  if (findInPath('qemu-system-x86_64')) return undefined
  const install = ['-y', '-qq', '--no-install-recommends', 'install', 'qemu-system-x86']
  try {
    execFileSync('apt-get', install, { env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }, stdio: 'ignore' })
    return undefined
  } catch {
    return 'needs qemu-system-x86_64 (Debian: qemu-system-x86)'
  }
}

export interface VmBox extends Vm {
  /** As `run`, for what must not fail: answers what it said. */
  ok(lines: string, timeoutS?: number): Promise<string>
}

/** Boots one of this checkout, which ends with the test. */
export const openVm = async (t: Teardowns): Promise<VmBox> => {
  mkdirSync(join(checkout, '.runtime'), { recursive: true })
  const dir = mkdtempSync(join(checkout, '.runtime/vm-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const vm = await bootVm(makeDisk(dir), dir)
  t.teardown(() => vm.end())
  return {
    ...vm,
    async ok(lines, timeoutS) {
      const { out, code } = await vm.run(lines, timeoutS)
      if (code !== 0) throw new Error(`${lines}: ${out}`)
      return out
    },
  }
}
