package db_test

func dropPrivileges() error { return nil }
