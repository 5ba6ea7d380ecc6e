/** Sandboxes of a server in the small internet, and what is seen of them from outside. */
import { readFileSync } from 'node:fs'
import type { World } from './internet/world.ts'
import { shell } from './tunnel-net.ts'

export const escape = new URL('../programs/escape.py', import.meta.url).pathname

export interface Sandbox {
  readonly name: string
  readonly url: string
  readonly address: string
  /** Standard output and error of a shell line, run as root. */
  run(command: string): Promise<string>
}

export const make = async ({ server }: World, name: string, network?: object): Promise<Sandbox> => {
  const { call, until } = server
  const made = await call('POST', '/v0/sandboxes', {
    metadata: { name },
    spec: { runtime: { image: 'base', memory: 1024 }, ...(network ? { network } : {}) },
  })
  if (made.status !== 200) throw new Error(`no sandbox: ${made.text}`)
  const { metadata } = await until(name, ({ status }) => status === 'DEPLOYED')
  // The address is the gateway's, which may have another port after a restart.
  const run = async (command: string): Promise<string> => {
    const { body, text } = await call('POST', `/default/sandboxes/${name}/process`, {
      command,
      waitForCompletion: true,
      timeout: 90,
    })
    return body?.logs?.trim() ?? text
  }
  const address = /inet (\S+)\//.exec(await run('ip -4 addr show dev eth0'))?.[1] ?? ''
  return { name, url: metadata.url, address, run }
}

export const put = ({ server }: World, { name }: Sandbox, network: object | undefined) =>
  server.call('PUT', `/v0/sandboxes/${name}`, { spec: { network } })

export const quoted = (text: string): string => `'${text.replaceAll("'", `'"'"'`)}'`

/** Packets that the world has seen for addresses that nobody may reach, by name. */
const forbidden = { attacker: '198.51.100.66', metadata: '169.254.169.254', private: '10.0.0.5', shared: '100.64.0.9' }

export const countPackets = (): void => {
  for (const address of Object.values(forbidden)) shell(`iptables -A INPUT -d ${address} -i w0`)
  // Questions of names come from the host's resolver only.
  shell('iptables -A INPUT -i w0 ! -s 10.250.0.2')
}

export const packets = (): Record<string, number> => {
  const lines = shell('iptables -vxnL INPUT').split('\n').slice(2)
  const names = [...Object.keys(forbidden), 'of others']
  return Object.fromEntries(names.map((name, at) => [name, Number(lines[at]?.trim().split(/\s+/)[0])]))
}

export const upload = async ({ run }: Sandbox, file: string, path: string): Promise<void> => {
  const text = readFileSync(file).toString('base64')
  await run(`echo ${text} | base64 -d > ${path}`)
}

/** Arguments of the program: who the proxy is, what is not to be reached. */
export const escapeArgs = (world: World, proxy: string, neighbour: Sandbox, prefix: string): string[] => {
  const api = new URL(world.server.url)
  return [prefix, ...proxy.split(':'), api.hostname, api.port, neighbour.address]
}

/** A namespace on the box that has the sandbox's address. */
export const namespaceOf = ({ server }: World, { address }: Sandbox): string => {
  const all = shell(`ls /run/netns | grep ${server.names.netnsPrefix}`).trim().split('\n')
  const found = all.find(name => shell(`ip -n ${name} -4 addr show dev eth0`).includes(` ${address}/`))
  if (!found) throw new Error(`nobody has ${address}`)
  return found
}
