import { existsSync } from 'node:fs'
import type { Clock } from '../../shared/clock.ts'
import { messageOf } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Device } from './device.ts'
import type { TunnelSettings } from './document.ts'
import { createKernelDevice } from './kernel-module.ts'
import { noUserspaceReason } from './support.ts'
import { createWireguardGoDevice } from './wireguard-go.ts'
import type { Tools } from './tools.ts'

interface Deps {
  readonly tools: Tools
  readonly clock: Clock
  readonly ids: Ids
}

const probe = 'hutch-wg-probe'

/** The reason why no device can be made here, or undefined. Leaves nothing behind. */
export const noDeviceReason = async (tools: Tools): Promise<string | undefined> => {
  const why = noUserspaceReason(tools)
  if (why === undefined) return undefined
  try {
    await tools.run('ip', ['link', 'add', 'dev', probe, 'type', 'wireguard'])
    await tools.run('ip', ['link', 'del', 'dev', probe])
    return undefined
  } catch (error) {
    return `${why} (${messageOf(error)})`
  }
}

/**
 * Makes the device with the kernel's module if there is one, else with wireguard-go. On failure it throws and leaves
 * nothing behind.
 */
export const createDevice = async (settings: TunnelSettings, deps: Deps): Promise<Device> => {
  const { interface: name } = settings
  if (existsSync(`/sys/class/net/${name}`))
    throw new Error(`there is an interface ${name} already; choose another interface_name`)
  return (await createKernelDevice(settings, deps)) ?? createWireguardGoDevice(settings, deps)
}
