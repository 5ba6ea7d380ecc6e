"""Keeps what each connection sends, whatever it is, and answers with it in the form that the first line asks for."""
import socket, sys, threading

server = socket.create_server(('0.0.0.0', int(sys.argv[1])))
kept = open(sys.argv[2], 'ab', 0)


def serve(s):
    s.settimeout(3)
    got = b''
    try:
        while piece := s.recv(65536):
            got += piece
            kept.write(piece)
            if b'\r\n\r\n' in got and b'agree' in got.split(b'\r\n')[0]:
                s.sendall(b'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
                got = b''
            elif b'\r\n\r\n' in got:
                s.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n' % len(got) + got)
                got = b''
    except OSError:
        pass
    s.close()


while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
