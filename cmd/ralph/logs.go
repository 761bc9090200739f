package main

func (a *app) logsCommand() command { return command{name: "logs", example: "x"} }
