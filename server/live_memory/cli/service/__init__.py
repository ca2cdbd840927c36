"""The server as a service of the machine: the one that systemd or launchd starts and watches."""
