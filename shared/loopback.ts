/** Whether an address, or the name `localhost`, is this machine's own. */
export const isLoopback = (host: string): boolean => /^((::ffff:)?127(\.\d{1,3}){3}|::1|localhost)$/i.test(host)
