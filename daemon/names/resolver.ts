/**
 * Host names in a sandbox, without the C library: it would read files of the tenant to know whom to ask and which code
 * of his to load for it.
 */
import { createSocket } from 'node:dgram'
import { isIP } from 'node:net'
import { readRegularFile } from '../config/read-regular-file.ts'
import { randomBytes } from '../native/sys/sys.ts'
import { readAnswer, writeQuestion, type Answer } from './message.ts'

/** Finds an IPv4 address. Throws an Error with the code ENOTFOUND or EAI_AGAIN. */
type Resolve = (name: string) => Promise<string>

const waitMs = 2_000
const rounds = 2
const portOfNames = 53

const failure = (code: string, name: string): Error =>
  Object.assign(new Error(`${code} ${name}`), { code, hostname: name, syscall: 'lookup' })

/** One question to one server, by a socket of its own: nobody else's datagram is taken for the answer. */
const ask = (server: string, port: number, name: string): Promise<Answer> => {
  const question = writeQuestion(randomBytes(2).readUInt16BE(0), name)
  if (!question) return Promise.resolve({ addresses: [] })
  return new Promise(resolve => {
    const socket = createSocket(isIP(server) === 6 ? 'udp6' : 'udp4')
    const end = (answer: Answer): void => {
      clearTimeout(timer)
      socket.close()
      resolve(answer)
    }
    const timer = setTimeout(() => end('again'), waitMs)
    socket.once('error', () => end('again'))
    socket.on('message', bytes => {
      const answer = readAnswer(question, bytes)
      if (answer) end(answer)
    })
    socket.connect(port, server, () => socket.send(question))
  })
}

/** Asks the servers, one after the other, twice; `port` is theirs. */
export const createResolver = (servers: readonly string[], port: number = portOfNames): Resolve => {
  const find = async (name: string): Promise<string> => {
    if (isIP(name)) return name
    if (/^(.*\.)?localhost\.?$/i.test(name)) return '127.0.0.1'
    for (let round = 0; round < rounds; round++)
      for (const server of servers) {
        const answer = await ask(server, port, name)
        if (answer === 'again') continue
        const [address] = answer.addresses
        if (address !== undefined) return address
        throw failure('ENOTFOUND', name)
      }
    throw failure('EAI_AGAIN', name)
  }
  return find
}

/** The servers that a root file system names: its resolv.conf as data. */
export const serversNamed = (path = '/etc/resolv.conf'): string[] => {
  try {
    const lines = readRegularFile(path).toString('latin1').split('\n').slice(0, 100)
    const named = lines.flatMap(line => /^\s*nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
    return named.filter(address => isIP(address) !== 0).slice(0, 3)
  } catch {
    // Missing, or a tenant has made something else of it: there is nobody to ask, which each lookup says.
    return []
  }
}

type Options = number | { readonly all?: boolean | undefined } | undefined
type Done = (error: Error | null, address?: unknown, family?: number) => void

/** From now on everything in this process that connects to a name asks `resolver`, which is made when it is needed. */
export const useResolver = (resolver: () => Resolve): void => {
  let resolve: Resolve | undefined
  const lookup = (name: string, options: Options | Done, done?: Done): void => {
    const [wanted, tell] = typeof options === 'function' ? [undefined, options] : [options, done as Done]
    const all = typeof wanted === 'object' && wanted.all === true
    resolve ??= resolver()
    resolve(name).then(
      address => {
        const family = isIP(address)
        if (all) tell(null, [{ address, family }])
        else tell(null, address, family)
      },
      (error: Error) => tell(error),
    )
  }
  // The module itself: what is imported of it is a copy.
  Object.assign(process.getBuiltinModule('node:dns'), { lookup })
}
